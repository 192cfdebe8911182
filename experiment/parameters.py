"""Types and ranges of what a user may change in a plan."""

from __future__ import annotations

from dataclasses import replace

from experiment.presets import Preset


class PlanError(ValueError):
    """One line: what is wrong with a parameter and what would be right."""


def whole(name: str, value: object, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise PlanError(f"{name} = {value!r}: must be a whole number from {low} to {high}")
    return value


def positive(name: str, value: object) -> float:
    if type(value) not in (int, float) or not 0 < value < float("inf"):  # type: ignore[operator]
        raise PlanError(f"{name} = {value!r}: must be a number above 0")
    return float(value)  # type: ignore[arg-type]


def levels(counts: object) -> list[int]:
    if not isinstance(counts, list | tuple) or not counts:
        raise PlanError(f"process_counts = {counts!r}: must be whole numbers, as [100, 600]")
    return list(dict.fromkeys(whole("process_counts", count, 1, 100_000) for count in counts))


def set_by_points(**given: object) -> None:
    """Raise PlanError for a parameter that a preset of design points sets point by point."""
    for name, value in given.items():
        if value is not None:
            raise PlanError(
                f"{name} = {value!r}: each design point has its own; leave {name} out, and choose"
                " arms, runs, minutes or another preset"
            )


def timed(
    preset: Preset, interval_ms: int | None, window_s: float | None, notes: list[str]
) -> Preset:
    """Apply interval and window; every window holds a whole number of scrapes."""
    if interval_ms is not None:
        preset = replace(preset, interval_ms=whole("interval_ms", interval_ms, 10, 600_000))
    interval = preset.interval_ms
    if window_s is not None:
        window = round(positive("window_s", window_s) * 1000)
        if window % interval or not interval <= window <= 3_600_000:
            near = max(1, round(window / interval)) * interval / 1000
            raise PlanError(
                f"window_s = {window_s!r}: must be a whole number of {interval} ms intervals, at"
                f" most an hour; {near:g} would do"
            )
        preset = replace(preset, window_ms=window)

    def whole_scrapes(window: int) -> int:
        return -(-window // interval) * interval

    if preset.window_ms % interval:
        notes.append(
            f"window lengthened from {preset.window_ms / 1000:g} s to"
            f" {whole_scrapes(preset.window_ms) / 1000:g} s: a whole number of intervals"
        )
    return replace(
        preset,
        window_ms=whole_scrapes(preset.window_ms),
        warm_up_window_ms=min(
            whole_scrapes(preset.warm_up_window_ms), whole_scrapes(preset.window_ms)
        ),
        fidelity=replace(preset.fidelity, window_ms=whole_scrapes(preset.fidelity.window_ms)),
    )
