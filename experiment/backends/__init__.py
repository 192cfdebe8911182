"""Where a plan runs: on this machine, or in the instruction-exact virtual machine.

Each backend is a program of its own that takes ``PLAN OUT [--resume]``, tells its progress as one
JSON object per line and fills one ordinary run folder, as :mod:`experiment.__main__` does.
"""

from __future__ import annotations

HERE, EXACT = "here", "exact"
BACKENDS = (HERE, EXACT)
#: Kernel and architecture of the exact machine; the first is taken when none is asked for.
GUESTS = ("6.1-x86_64", "6.12-x86_64", "6.1-aarch64", "6.12-aarch64")
#: Processes in the guest before any of ours, at most: the kernel's own, and the first.
PRESENT_IN_GUEST = 50
