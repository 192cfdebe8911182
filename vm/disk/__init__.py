"""A whole Debian machine on a disk image, with systemd, set up by ``provision.sh`` itself.

Standard library only. ``python -m vm.disk`` lists the commands.
"""

from __future__ import annotations


class DiskError(Exception):
    """The image cannot be made or the machine failed; one line with cause and cure."""
