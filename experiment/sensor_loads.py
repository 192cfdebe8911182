"""What a security sensor looks at, made by a generator: trials of kind ``sensor``.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: The generator of all these events, and the program that it executes.
PROGRAM, EXECUTED = "sensor_load", "exec_step"


@dataclass(frozen=True)
class Event:
    """One unit of a load.

    ``seconds`` and ``instructions`` it takes with a sensor attached, rough and on the high side;
    ``makes``: how often each hook must report for it, if files are filtered; ``messages`` it sends.
    """

    seconds: float
    instructions: float
    makes: Mapping[str, int] = field(default_factory=dict)
    messages: int = 0


_EXECUTION = {"bprm_check": 1, "fork": 1, "exit": 1}
_CONNECTION = {"connect": 1, "accept": 1, "sock_create": 1}
#: By the generator's names.
EVENTS: dict[str, Event] = {
    "open_inside": Event(4e-6, 1.2e4, {"file_open": 1}),
    "open_outside": Event(3e-6, 6e3),
    "files": Event(5e-5, 1.4e5, {"file_open": 1}),
    "unlink": Event(1e-5, 4e4, {"unlink": 1}),
    "rename": Event(6e-6, 3e4, {"rename": 1}),
    "chmod": Event(3e-6, 1.5e4, {"chmod": 1}),
    "mount": Event(2e-3, 4e5, {"mount": 1, "umount": 1}),
    "execve": Event(1.5e-4, 6e5, {"execve": 1} | _EXECUTION),
    "execveat": Event(1.5e-4, 6e5, {"execveat": 1} | _EXECUTION),
    "programs": Event(2e-4, 7e5, {"execve": 1} | _EXECUTION),
    "fork": Event(2e-4, 3.5e5, {"fork": 1, "exit": 1}),
    "setuid": Event(3e-6, 1.2e4, {"setuid": 1}),
    "ptrace": Event(6e-6, 6e4, {"ptrace": 1}),
    "kill": Event(2e-6, 8e3, {"kill": 1}),
    "bpf": Event(2e-6, 8e3, {"bpf": 1}),
    "module": Event(2e-5, 2e4, {"module_load": 1}),
    "connect": Event(2.5e-5, 2e5, _CONNECTION),
    "send": Event(6e-6, 2.5e4, {"tcp_sendmsg": 1}, 1),
    "network": Event(8e-5, 4.5e5, _CONNECTION | {"tcp_sendmsg": 10}, 10),
    "service": Event(1.2e-4, 6e5, _CONNECTION | {"tcp_sendmsg": 10, "file_open": 1}, 10),
    "socket": Event(6e-6, 3e4, {"sock_create": 1}),
    "bind": Event(8e-6, 4e4, {"sock_create": 1, "bind": 1}),
}
#: Hooks whose reports may be sums, which say how much but not how often.
SUMMED = ("tcp_sendmsg", "tcp_cleanup_rbuf")
