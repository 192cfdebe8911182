"""Command lines: what argparse says of a wrong one, in one line."""

from __future__ import annotations

import argparse
from typing import NoReturn

from cli.problem import Problem


class Parser(argparse.ArgumentParser):
    """argparse with one line instead of a usage page."""

    def error(self, message: str) -> NoReturn:
        raise Problem(f"{message}; {self.prog} --help lists what there is")
