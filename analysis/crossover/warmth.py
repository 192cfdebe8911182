"""How warm a machine is: which share of scrapes and switches finds it cold, by its switch rate.

    share(S) = S0 / (S0 + S)

A scrape or a switch after a pause finds its caches cold and its processor asleep, one of many back
to back does not: on one machine a switch was charged seven times, a scrape of little work three
times as much.  Say that a machine goes cold at random moments, S0 of them a second, and that each
of S switches a second warms it: then the last thing that happened was a cooling with this share.
At S0 switches a second it is one in two.

Literature
    D. Thiebaut, H. S. Stone, "Footprints in the cache", ACM Trans. Comp. Sys. 5 (1987): what a
        program that was away for a while has to load again, by what ran in between.
    M. S. Squillante, E. D. Lazowska, "Using processor-cache affinity information in shared-memory
        multiprocessor scheduling", IEEE Trans. Par. Distr. Sys. 4 (1993): the reload as a
        function of the time away that rises to a bound; for times away that are exponential as
        the cooling is, its mean is the share above.
"""

from __future__ import annotations

import numpy as np

from analysis.statistics.types import Array


def share(rate: Array, half: float) -> Array:
    """Share of cold ones at these rates (1/s, above 0). half: S0, 1/s; 0: never cold."""
    made: Array = half / (half + np.asarray(rate, dtype=np.float64)) if half > 0 else 0.0 * rate
    return made
