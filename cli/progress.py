"""Progress with the time left; it moves only when the runner reports, never inside a window."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from tqdm import tqdm

# tqdm's monitor is a thread that wakes up every ten seconds, inside a measured window as well
tqdm.monitor_interval = 0


class Progress:
    """Shows one study's events: a bar on a terminal or in a notebook, else a line now and then."""

    def __init__(
        self,
        study: str,
        file: TextIO | None = None,
        notebook: bool = False,
        told: Iterable[str] = (),
    ) -> None:
        """``told``: what the reader has been told already and need not see again."""
        self._study = study
        self._seen = set(told)
        self._trials = 0
        self._file = sys.stdout if file is None else file
        self._live = notebook or self._file.isatty()
        self._bar: Any = None
        self._told = time.monotonic()

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Take one event of the runner."""
        kind = event.get("event")
        if kind == "start":
            self._start(int(event["trials"]), int(event["done"]), float(event.get("eta_s") or 0))
        elif kind == "trial":
            status = event.get("status")
            if status != "ok" and event.get("reason"):
                self._once(f"{event.get('arm')} is {status}: {event['reason']}")
            self._advance(int(event["done"]), float(event.get("eta_s") or 0))
        elif kind == "warning":
            self._once(str(event["text"]))
        elif kind == "end":
            self.close()

    def close(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _start(self, trials: int, done: int, left_s: float) -> None:
        self._trials = trials
        if self._live:
            self._bar = tqdm(
                total=trials,
                initial=done,
                desc=self._study,
                unit="trial",
                file=self._file,
                dynamic_ncols=self._file.isatty(),
                ncols=None if self._file.isatty() else 88,
                bar_format="{desc}: {percentage:3.0f} %|{bar}| {n}/{total} trials{postfix}",
                postfix=f"{duration(left_s)} left",
            )
        else:
            self._line(f"{trials - done} of {trials} trials to go, {duration(left_s)}")

    def _advance(self, done: int, left_s: float) -> None:
        if self._bar is not None:
            self._bar.set_postfix_str(f"{duration(left_s)} left", refresh=False)
            self._bar.n = done
            self._bar.refresh()
        elif done == self._trials or time.monotonic() - self._told > 30:
            self._told = time.monotonic()
            self._line(f"{done} of {self._trials} trials done, {duration(left_s)} left")

    def _once(self, text: str) -> None:
        if text not in self._seen:
            self._seen.add(text)
            self._line(text)

    def _line(self, text: str) -> None:
        if self._bar is not None:
            self._bar.clear()
        print(f"{self._study}: {text}", file=self._file, flush=True)
        if self._bar is not None:
            self._bar.refresh()


def duration(seconds: float) -> str:
    """``3 min 20 s``, ``45 s``."""
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60:02d} s" if whole >= 60 else f"{whole} s"
