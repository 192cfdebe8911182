"""Linear forms of a point's features whose coefficients were estimated once a block.

One abstraction carries every question: a cost is coefficients times features; a difference of two
collectors, or one less a factor times the other, is one of the coefficients' differences, taken
block by block, so that what drifts from block to block cancels. Mean over blocks and its t interval
(Student 1908) follow from the mean and the covariance of the coefficients, exactly as from each
block's value, and for a whole fleet from the sum of its nodes' features: an error of a coefficient
is the same error on every node, and never averages out over them.

Instructions are counted under declared perturbations, which are no sample: their interval is the
least and the greatest of them, and a sign is known where all agree (a level of None).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cli.advise.coefficients import Arm
from cli.advise.student import quantile

Features = Sequence[float]
#: Features at a value of what is varied.
Way = Callable[[float], Features]
PLACES = 200


@dataclass(frozen=True)
class Interval:
    """An estimate and its interval in the form's unit; ends of None cannot be stated."""

    estimate: float
    low: float | None
    high: float | None

    def times(self, factor: float) -> Interval:
        """The same in another unit. factor > 0."""
        low, high = (None if end is None else end * factor for end in (self.low, self.high))
        return Interval(self.estimate * factor, low, high)

    def hull(self, other: Interval) -> Interval:
        """What covers both; the estimate is halfway between the two."""
        lows, highs = (self.low, other.low), (self.high, other.high)
        low = None if lows[0] is None or lows[1] is None else min(lows[0], lows[1])
        high = None if highs[0] is None or highs[1] is None else max(highs[0], highs[1])
        return Interval((self.estimate + other.estimate) / 2, low, high)


@dataclass(frozen=True)
class Form:
    """mean: of the coefficients over blocks; cov: of those means, None for a single block.

    spread: standard errors of the coefficients; rows: each block's coefficients, where their range
    takes the place of the t interval.
    """

    mean: tuple[float, ...]
    cov: tuple[tuple[float, ...], ...] | None
    t: float
    spread: tuple[float, ...]
    rows: tuple[tuple[float, ...], ...] = ()

    def estimate(self, x: Features) -> float:
        """The form's mean at these features."""
        return dot(self.mean, x)

    def half(self, x: Features) -> float | None:
        """Half the width of its t interval there; None without one."""
        if self.cov is None:
            return None
        return self.t * math.sqrt(max(0.0, dot(x, [dot(row, x) for row in self.cov])))

    def at_most(self, x: Features) -> float:
        """No less than half the width, for features from 0 on, at a fraction of the work."""
        return self.t * dot(self.spread, x)

    def at(self, x: Features) -> Interval:
        """Mean and interval there."""
        if self.rows:
            values = [dot(row, x) for row in self.rows]
            return Interval(self.estimate(x), min(values), max(values))
        mean, half = self.estimate(x), self.half(x)
        if half is None:
            return Interval(mean, None, None)
        return Interval(mean, mean - half, mean + half)

    def sign(self, x: Features) -> int:
        """1 or -1 where the interval leaves zero out, else 0."""
        if self.rows:
            signs = {(value > 0) - (value < 0) for value in (dot(row, x) for row in self.rows)}
            return signs.pop() if len(signs) == 1 else 0
        mean, half = self.estimate(x), self.half(x)
        if half is None or abs(mean) <= half:
            return 0
        return 1 if mean > 0 else -1


def dot(a: Features, x: Features) -> float:
    """Product of two rows of seven; written out, since a fleet takes millions."""
    return (
        a[0] * x[0] + a[1] * x[1] + a[2] * x[2] + a[3] * x[3]
        + a[4] * x[4] + a[5] * x[5] + a[6] * x[6]
    )  # fmt: skip


def cost(arm: Arm, level: float | None) -> Form:
    """A collector's cost per second."""
    return _form(list(arm.blocks.values()), level)


def less(x: Arm, y: Arm, level: float | None, factor: float = 1.0) -> Form | None:
    """Cost of x less a factor times that of y, in the blocks of both; None if they share none."""
    both = [b for b in x.blocks if b in y.blocks]
    if not both:
        return None
    return _form(
        [tuple(p - factor * q for p, q in zip(x.blocks[b], y.blocks[b])) for b in both], level
    )


def combined(parts: Sequence[tuple[Arm, Features]], level: float | None) -> Interval:
    """Sum of the costs of several collectors, each at features of its own (of either sign)."""
    both = set(parts[0][0].blocks)
    for arm, _ in parts:
        both &= set(arm.blocks)
    sums = [sum(dot(arm.blocks[block], x) for arm, x in parts) for block in sorted(both)]
    if not sums:  # no block holds all of them
        means = (cost(arm, level).estimate(x) for arm, x in parts)
        return Interval(sum(means), None, None)
    none = (0.0,) * 6
    return _form([(value, *none) for value in sums], level).at((1.0, *none))


def _form(rows: list[tuple[float, ...]], level: float | None) -> Form:
    n, size = len(rows), len(rows[0])
    mean = tuple(math.fsum(row[i] for row in rows) / n for i in range(size))
    if n == 1 or level is None:
        kept = tuple(rows) if n > 1 else ()
        return Form(mean, None, math.inf, (math.inf,) * size, kept)
    apart = [[v - m for v, m in zip(row, mean)] for row in rows]
    cov = tuple(
        tuple(math.fsum(row[i] * row[j] for row in apart) / (n - 1) / n for j in range(size))
        for i in range(size)
    )
    errors = tuple(math.sqrt(cov[i][i]) for i in range(size))
    return Form(mean, cov, quantile(n - 1, level), errors)


def undecided(form: Form, at: Features, along: Features, low: float, high: float) -> list[float]:
    """Where on a line the form's sign is open: ends of these stretches in [low, high], in pairs.

    The features are ``at + u along``; mean² = t² variance is a quadratic in u (Fieller 1954), and
    between its roots and the ends the sign is either known throughout or nowhere.
    """
    if form.rows:
        lines = [(0.0, dot(row, along), dot(row, at)) for row in form.rows]
        return _open(form, at, along, low, high, [u for line in lines for u in _roots(*line)])
    if form.cov is None:
        return [low, high]

    def product(x: Features, y: Features) -> float:
        assert form.cov is not None
        spread = dot(x, [dot(row, y) for row in form.cov])
        return form.estimate(x) * form.estimate(y) - form.t**2 * spread

    roots = _roots(product(along, along), 2 * product(at, along), product(at, at))
    return _open(form, at, along, low, high, roots)


def undecided_over(form: Form, at: Way, low: float, high: float) -> list[float]:
    """As `undecided`, on a curve: features at u, from low (above 0) to high.

    Where the sign begins and ends to be known is looked for between PLACES values, a like factor
    apart, and then halved down to.
    """
    ratio = (high / low) ** (1 / PLACES)
    places = [low * ratio**n for n in range(PLACES)] + [high]
    signs = [form.sign(at(place)) for place in places]
    edges = []
    for left, right, before, after in zip(places, places[1:], signs, signs[1:]):
        if before != after:
            edges.append(_edge(form, at, left, right, before))
            if before and after:  # from one known sign to the other: open in between
                edges.append(_edge(form, at, edges[-1], right, 0))
    ends = ([low] if signs[0] == 0 else []) + edges + ([high] if signs[-1] == 0 else [])
    return ends


def _edge(form: Form, at: Way, left: float, right: float, sign: int) -> float:
    """Where the sign ceases to be what it is on the left."""
    for _ in range(60):
        middle = math.sqrt(left * right)
        if not left < middle < right:
            break
        if form.sign(at(middle)) == sign:
            left = middle
        else:
            right = middle
    return right


def rates(form: Form, x: Features, half: float) -> list[float]:
    """Switch rates, above 0, at which the form is zero; x: features at no switch, all of it cold.

    Times S0 + S it is a polynomial of the second degree in the rate S.
    """
    scrape = sum(m * v for m, v in zip(form.mean[:4], x[:4]))
    cold, warm, more = form.mean[4] * x[0], form.mean[5], form.mean[6]
    found = _roots(warm, scrape + half * (warm + more), half * (scrape + cold))
    return sorted(u for u in found if 0 < u < math.inf)


def _open(
    form: Form, at: Features, along: Features, low: float, high: float, roots: list[float]
) -> list[float]:
    """Of the stretches between the roots, those whose middle has no known sign; joined."""
    ends = [low, *sorted(u for u in roots if low < u < high), high]
    open_: list[float] = []
    for start, end in zip(ends, ends[1:]):
        middle = (start + end) / 2
        if form.sign([a + middle * b for a, b in zip(at, along)]) == 0:
            if open_ and open_[-1] == start:
                open_[-1] = end
            else:
                open_ += [start, end]
    return open_


def _roots(a: float, b: float, c: float) -> list[float]:
    """Real roots of a u² + b u + c, without the cancellation of the school formula."""
    within = b * b - 4 * a * c
    if within < 0 or (a == 0 and b == 0):
        return []
    q = -(b + math.copysign(math.sqrt(within), b)) / 2
    return [top / bottom for top, bottom in ((q, a), (c, q)) if bottom]
