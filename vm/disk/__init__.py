"""A whole Debian machine on a disk image, with systemd, set up by ``provision.sh`` itself.

Standard library only. ``python -m vm.disk`` lists the commands.
"""
