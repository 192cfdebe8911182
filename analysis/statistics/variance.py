"""How much of the scatter arises at each level of repetition: scrapes, blocks, sessions.

Literature
    T. Kalibera, R. Jones, "Rigorous benchmarking in reasonable time", ISMM (2013): repetition at
        several levels, unbiased estimates T^2 of the variance that each level adds, and how many
        repetitions of a lower level are worth their time.
    S. R. Searle, G. Casella, C. E. McCulloch, "Variance components" (1992), ch. 4 and 5: the nested
        model, and analysis of variance for it.

Model.  A scrape is x = mu + session + block + scrape, independent, each with a variance of its own.
The mean of k scrapes has variance block + scrape / k, the mean of n such blocks session + (block +
scrape / k) / n.  So the sample variance of the means at one level, less what the level below puts
into it, is an unbiased estimate of that level's own variance.  Means are not weighted by how many
repetitions they hold, which keeps this exact when some are missing: 1 / k becomes the mean of the
1 / k.  An estimate below zero is what chance makes of a variance near zero; its share counts as 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.statistics.intervals import is_constant
from analysis.statistics.types import Array


@dataclass(frozen=True)
class Split:
    """Variance of one session's block means. Variances in the squared unit of the values.

    observed: of the block means; scrape: of a scrape inside its block, None if no block has two;
    inverse: mean over blocks of 1 / scrapes; block: observed less the scrapes' part.
    """

    mean: float
    blocks: int
    observed: float
    scrape: float | None
    scrapes: float
    inverse: float

    @property
    def block(self) -> float | None:
        """Unbiased variance between blocks, beyond that of their scrapes; can fall below zero."""
        return None if self.scrape is None else self.observed - self.scrape * self.inverse

    @property
    def scrape_share(self) -> float | None:
        """Share of a block mean's variance that its scrapes explain, 0 to 1; None: no variance."""
        if self.scrape is None or self.block is None:
            return None
        part, rest = self.scrape * self.inverse, max(self.block, 0.0)
        return part / (part + rest) if part + rest > 0 else None

    def best_scrapes(self, per_scrape: float, per_trial: float) -> int | None:
        """Scrapes per trial that give the narrowest interval in a given time (Kalibera, Jones).

        sqrt((cost of a trial / cost of a scrape) (scrape variance / block variance)); costs in any
        one unit of time, the trial's without its scrapes. None where blocks add no variance: the
        longer the window, the better.
        """
        if self.scrape is None or self.block is None or self.block <= 0:
            return None
        return max(1, math.ceil(math.sqrt(per_trial / per_scrape * self.scrape / self.block)))


def split(blocks: Sequence[Array]) -> Split | None:
    """Split the variance of one session: one array of scrapes a block. None for fewer than two."""
    held = [b for b in blocks if len(b)]
    if len(held) < 2:
        return None
    means = np.array([float(np.mean(b)) for b in held])
    degrees = sum(len(b) - 1 for b in held)
    inside = float(sum(np.sum((b - np.mean(b)) ** 2) for b in held))
    return Split(
        mean=float(np.mean(means)),
        blocks=len(held),
        observed=0.0 if is_constant(means) else float(np.var(means, ddof=1)),
        scrape=inside / degrees if degrees else None,
        scrapes=float(np.mean([len(b) for b in held])),
        inverse=float(np.mean([1 / len(b) for b in held])),
    )


@dataclass(frozen=True)
class Between:
    """Variance between sessions, beyond what their blocks put into their means.

    variance: unbiased, can fall below zero; expected: what the blocks alone explain of `observed`,
    the variance of the session means; p: of the F test of observed / expected, None without spread.
    """

    sessions: int
    observed: float
    expected: float
    p: float | None

    @property
    def variance(self) -> float:
        return self.observed - self.expected


def between(means: Sequence[float], errors: Sequence[float], degrees: int) -> Between | None:
    """Split the variance of session means; None for fewer than two sessions.

    errors: each mean's own variance (squared standard error); degrees: of all of them together.
    p is the upper tail of F(sessions - 1, degrees): no variance between sessions, equal inside.
    """
    if len(means) < 2 or len(means) != len(errors):
        return None
    values = np.asarray(means, dtype=np.float64)
    observed = 0.0 if is_constant(values) else float(np.var(values, ddof=1))
    expected = float(np.mean(errors))
    p = None
    if expected > 0 and degrees > 0:
        p = float(stats.f.sf(observed / expected, len(values) - 1, degrees))
    return Between(len(values), observed, expected, p)
