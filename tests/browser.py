"""Drives a headless Chromium over its debugging pipe: no driver, no port, a home of its own.

The protocol is JSON messages that end in a zero byte: Chromium reads file descriptor 3 and writes 4
(https://chromedevtools.github.io/devtools-protocol/).
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

PROGRAM = shutil.which("chromium")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-extensions", "--remote-debugging-pipe", "--hide-scrollbars"),
)
COMPLAINTS = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")


@dataclass
class Visit:
    """What happened while a page was open."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    value: Any = None


class Browser:
    """A running browser with one tab. Use it in a ``with`` statement."""

    def __init__(self, home: Path, seconds: float = 30) -> None:
        """``home``: an empty folder; ``seconds``: how long any answer may take."""
        self._seconds = seconds
        self._number = 0
        self._waiting = b""
        self._events: list[dict[str, Any]] = []
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # above the shell's own, so that neither redirection overwrites the other's source
        high = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (theirs_in, theirs_out)]
        for end in (theirs_in, theirs_out):
            os.close(end)
        script = f'exec chromium "$@" 3<&{high[0]} 4>&{high[1]}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "chromium", *FLAGS, f"--user-data-dir={home}", "about:blank"],
            pass_fds=high,
            env={**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in high:
            os.close(end)
        self._session = ""
        made = self._ask("Target.createTarget", url="about:blank")
        tab = self._ask("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        self._session = tab["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self._ask(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session = ""
        try:
            self._ask("Browser.close")
            self._process.wait(timeout=10)
        except (OSError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        for end in (self._in, self._out):
            os.close(end)

    def visit(self, page: Path, width: int, height: int, script: str) -> Visit:
        """Open a file in a window of that size and evaluate an expression in it."""
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self._events.clear()
        self._ask("Page.navigate", url=page.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._receive()
        answer = self._ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        visit = Visit(value=answer["result"].get("value"))
        for event in self._events:
            told = event["params"]
            if event["method"] == "Network.requestWillBeSent":
                visit.requests.append(told["request"]["url"])
            elif event["method"] in COMPLAINTS:
                visit.complaints.append(json.dumps(told))
        return visit

    def screenshot(self, target: Path, whole: bool = False) -> None:
        """A picture of what the tab shows, or of the whole page."""
        shot = self._ask("Page.captureScreenshot", captureBeyondViewport=whole)
        target.write_bytes(base64.b64decode(shot["data"]))

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        asked = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._out, json.dumps(asked).encode() + b"\0")
        number = self._number
        while True:
            message = self._receive()
            if message.get("id") == number:
                assert "error" not in message, (method, message["error"])
                result: dict[str, Any] = message["result"]
                return result

    def _receive(self) -> dict[str, Any]:
        """The next message; events are kept."""
        deadline = time.monotonic() + self._seconds
        while b"\0" not in self._waiting:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            got = os.read(self._in, 1 << 20)
            if not got:
                raise OSError("the browser has ended")
            self._waiting += got
        line, _, self._waiting = self._waiting.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if "method" in message and message.get("sessionId") == self._session:
            self._events.append(message)
        return message
