"""Which rows of trials.csv an analysis is made from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd


def valid(trials: pd.DataFrame, kind: str) -> npt.NDArray[np.bool_]:
    """Mask of the valid rows of a kind after the warm-up.

    On plain arrays: the same on three extension columns takes ten times as long, in every part of
    the analysis of every run.
    """
    of_kind = trials["kind"].to_numpy(dtype=object) == kind
    ok = trials["status"].to_numpy(dtype=object) == "ok"
    found: npt.NDArray[np.bool_] = of_kind & ok & (trials["block"].to_numpy(dtype=np.int64) > 0)
    return found
