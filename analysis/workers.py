"""Processes that share the work on many runs."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context


def pool(workers: int) -> ProcessPoolExecutor:
    """A pool of so many processes.

    Forked where that is safe, on Linux and out of a single thread: to load the libraries again in
    each worker takes as long as the figures of a run. Elsewhere (a notebook's kernel has threads)
    they start afresh.
    """
    alone = sys.platform == "linux" and threading.active_count() == 1
    return ProcessPoolExecutor(workers, mp_context=get_context("fork" if alone else "spawn"))
