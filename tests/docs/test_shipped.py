"""What the README shows is what the shipped raw data gives."""

import csv
import json
import re
import statistics
import subprocess
from pathlib import Path

import pytest

from analysis.load import load_run
from cli import exact, exact_lock

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROCESSED = ROOT / "data" / "processed"


def tracked(folder):
    listed = subprocess.run(
        ["git", "ls-files", "-z", str(folder)], cwd=ROOT, capture_output=True, check=True
    )
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


RUNS = sorted({path.parent for path in tracked(ROOT / "data" / "raw") if path.name == "trials.csv"})
SUMMARIES = sorted(path for path in tracked(PROCESSED) if path.match("*/*/summary.json"))


def main_run():
    """The run that the README's figure comes from."""
    shown = re.search(r"\]\((data/processed/processes/[^/)]+)/", README)
    assert shown, "the README shows no figure of data/processed"
    return ROOT / shown[1]


def test_article_paper_and_scaling_of_processes_are_shipped_and_finished():
    presets = {}
    for path in RUNS:
        run = load_run(path)
        assert run.finished, path
        presets.setdefault(run.manifest["study"], set()).add(run.manifest["preset"])
    assert presets["processes"] >= {"article", "paper", "scaling"}
    assert "gauges" in presets


def test_the_digits_that_are_locked_are_those_of_the_newest_run_of_their_kind():
    """So that what `./study exact --verify` compares with can be read in the raw rows."""
    newest_of = {}
    for path in RUNS:
        manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
        if "exact" in manifest:
            kind = manifest["study"], manifest["preset"], manifest["exact"]["guest"]
            newest_of[exact_lock.key(*kind)] = exact.digest(path)
    assert newest_of == {key: exact_lock.load(key).digest for key in exact_lock.known()}


def test_the_readme_says_the_sentence_of_its_run_word_for_word():
    summary = json.loads((main_run() / "summary.json").read_text(encoding="utf-8"))
    said = " ".join(README.split())
    assert " ".join(summary["sentence"].split()) in said


def test_every_figure_table_and_page_that_the_readme_names_is_there():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_the_readmes_tables_are_those_of_the_processed_runs():
    tables = re.findall(r"(?:^\|.*\n)+", README, re.M)
    shipped = [p.read_text(encoding="utf-8") for p in tracked(PROCESSED) if p.suffix == ".md"]
    numbers = [t for t in tables if "% of one core" in t]
    assert numbers, "the README shows no measured table"
    for table in numbers:
        for row in table.strip().splitlines()[2:]:
            assert any(row in text for text in shipped), row


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_shipped_figures_and_tables_are_what_the_shipped_data_gives(run, shipped_again):
    shipped = PROCESSED / run.parent.name / run.name
    files = [p for p in tracked(shipped) if p.suffix in (".svg", ".csv", ".md", ".txt", ".json")]
    assert files, f"nothing of {run.name} is in data/processed"
    for file in files:
        made = shipped_again / file.relative_to(PROCESSED)
        assert made.read_bytes() == file.read_bytes(), file.relative_to(ROOT)


def test_what_follows_from_several_runs_is_what_the_shipped_ones_give(shipped_again):
    shipped = [p for name in ("noise", "sessions", "beside") for p in tracked(PROCESSED / name)]
    assert any(path.name == "a_a.md" for path in shipped)
    for file in shipped:
        made = shipped_again / file.relative_to(PROCESSED)
        assert made.exists() and made.read_bytes() == file.read_bytes(), file.relative_to(ROOT)


def test_the_readmes_exact_numbers_are_those_of_the_shipped_exact_runs():
    """Written by hand, so held to the summaries, which are held to the raw data."""
    found = [json.loads(path.read_text()) for path in SUMMARIES]
    exact = [run for run in found if run.get("preset") == "exact"]
    of = {(run["study"], run["fingerprint"]["architecture"]): run for run in exact}
    said = " ".join(README.split())
    for architecture in ("x86_64", "aarch64"):
        ratio = of["processes", architecture]["exact"]["contrasts"][0]["ratio"]
        low, middle, high = (f"{ratio[end]:.1f}" for end in ("low", "median", "high"))
        assert f"{middle} times [{low} to {high}]" in said
    accounts = {
        (e["arm"], e["workload"], e["pace"]): e for e in of["accounts", "x86_64"]["accounts"]
    }

    def instructions(arm, name):
        return round(accounts[arm, "switch", "hot"][name]["estimate"] / 2)  # 2 ns an instruction

    published = "sched_switch_published"
    shown = instructions(published, "statistics_ns")
    assert f"Of {instructions(published, 'external_off')} instructions added" in said
    assert f"`run_time_ns` shows {shown}; an empty program" in said
    assert f"leaves the same {instructions('empty_switch_perf', 'residual')} unseen" in said
    assert f"that gap is {instructions('empty_switch', 'residual')} (" in said
    slopes = {
        row["arm"]: row
        for row in table(newest("processes", "exact_scaling"), "instructions_per_process")
    }
    said, slope = said.replace("−", "-"), "instructions_per_process_and_scrape"
    for arm in ("proc_stat", "proc_stat_tuned", "top", "task_iter"):
        assert f" {float(slopes[arm][slope]):,.0f}" in said
    for arm in (published, "sched_switch"):
        least, most = (float(slopes[arm][f"{slope}_{end}"]) for end in ("least", "greatest"))
        assert f"{float(slopes[arm][slope]):.1f} [{least:.1f} to {most:.1f}]" in said


def newest(study, preset, architecture="x86_64"):
    """The newest shipped run, as a path below data/processed."""
    found = [
        path.parent.relative_to(PROCESSED).as_posix()
        for path in SUMMARIES
        for run in [json.loads(path.read_text())]
        if (run.get("study"), run.get("preset")) == (study, preset)
        and run.get("fingerprint", {}).get("architecture") == architecture
    ]
    return found[-1]


def table(run, name):
    with (PROCESSED / run / "tables" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_readmes_numbers_of_both_floors_are_those_of_the_shipped_tables():
    """Written by hand, so held to the tables that they link to."""
    said = " ".join(README.split()).replace("−", "-")
    floor = newest("processes", "floor")
    assert f"/{floor}/tables/methods.md)" in said
    methods = {(row["id"], row["measure"]): row for row in table(floor, "methods")}

    def percent(contrast, side, digits, method="headline"):
        return f"{float(methods[contrast, method][side + '_cost']):.{digits}f} %"

    def ends(contrast, side):
        row = methods[contrast, "headline"]
        return f"[{float(row[side + '_cost_low']):.3f}, {float(row[side + '_cost_high']):.3f}]"

    def ratio(contrast, digits, within, method="headline"):
        row = methods[contrast, method]
        low, high = (f"{float(row['ratio_' + end]):.{within}f}" for end in ("low", "high"))
        return f"{float(row['ratio']):.{digits}f} times [{low}, {high}]"

    ours, published = "proc_vs_corrected_600", "proc_vs_published_600"
    assert f"/proc takes {percent(ours, 'numerator', 2)} of a core" in said
    assert f"kept open {percent('tuned_vs_corrected_600', 'numerator', 3)};" in said
    of_published = f"{percent(published, 'denominator', 3)} {ends(published, 'denominator')}"
    assert f"eBPF as published {of_published}" in said
    assert f"the iterator {percent('iter_vs_corrected_600', 'numerator', 3)}," in said
    assert f"one {percent(ours, 'denominator', 3)} {ends(ours, 'denominator')}," in said
    assert f"its reader is {percent(ours, 'denominator', 4, 'agent')}." in said
    assert f"costs {ratio(ours, 1, 1)} the corrected one" in said
    assert f"and {ratio(published, 1, 1)} the published one" in said
    assert f"which is {ratio('published_vs_corrected_600', 2, 1)} the" in said
    by_published = ratio("published_vs_corrected_600", 2, 2, "published")
    assert f"by the published method {by_published}" in said


def test_the_readmes_numbers_of_the_map_are_those_of_the_shipped_tables():
    said = " ".join(README.split()).replace("−", "-")
    crossover, quick = newest("crossover", "paper"), newest("crossover", "quick")
    hooks = ("sched_switch_published", "sched_switch")
    model = {row["arm"]: row for row in table(crossover, "model")}
    iterator, tuned = (
        float(model[arm]["per_process"]) / 1e3 for arm in ("task_iter", "proc_stat_tuned")
    )
    assert f"took {iterator:.2f} µs a process and scrape, tuned polling {tuned:.1f};" in said
    off = [
        100 * float(model[arm]["held_out_median_error"])
        for arm in ("proc_stat", "proc_stat_tuned", "task_iter", *hooks)
    ]
    assert f"the model is off by {min(off):.0f} to {max(off):.0f} % (median;" in said

    held = {row["arm"]: row for row in table(crossover, "held_out")}
    alone = " and ".join(f"{100 * float(held[arm]['median_reader_error']):.0f}" for arm in hooks)
    assert f"their readers alone, which are off by {alone} % of their own" in said

    def sure(run, *arms):
        held = {row["arm"]: float(row["median_half_width"]) for row in table(run, "held_out")}
        return " and ".join(f"±{100 * held[arm]:.0f}" for arm in arms)

    polling = sure(crossover, "proc_stat", "proc_stat_tuned")
    assert f"{polling} % for polling, {sure(crossover, *hooks)} % for the hooks" in said
    assert f"sure to {sure(quick, *hooks)} % only" in said
    verdicts = table(crossover, "point_verdicts")
    beaten = [
        row
        for row in verdicts
        if (row["numerator"], row["denominator"]) == ("proc_stat_tuned", "task_iter")
    ]
    dearer = [float(row["ratio"]) for row in beaten if row["verdict"] == "dearer"]
    assert f"at {len(dearer)} of {len(beaten)} points" in said
    assert f"the dearer one, {min(dearer):.1f} to {max(dearer):.1f} times" in said
    rates = [float(row["switches_per_s"]) for row in beaten]
    assert f"from {min(rates):.0f} to {round(max(rates), -3):,.0f} switches a second" in said
    busiest = max(float(row["switches_per_s"]) for row in verdicts)
    row = next(
        row
        for row in verdicts
        if (row["numerator"], row["denominator"]) == ("proc_stat_tuned", "sched_switch")
        and float(row["switches_per_s"]) == busiest
    )
    ends = ", ".join(f"{float(row['ratio_' + end]):.3f}" for end in ("low", "high"))
    assert row["verdict"] == "cheaper"
    assert f"tuned polling took {float(row['ratio']):.3f} times [{ends}] what the corrected" in said
    assert f"adjusted p = {float(row['p_adjusted']):.3f})" in said
    meet = next(
        row
        for row in table(crossover, "break_even")
        if (row["steeper"], row["flatter"]) == ("sched_switch_published", "proc_stat")
        and (row["processes"], row["interval_s"]) == ("100", "1")
    )
    rate, low, high = (
        float(f"{float(meet['switches_per_s' + end]):.3g}") for end in ("", "_low", "_high")
    )
    assert f"meet at {rate:,.0f} switches a second [{low:,.0f}, {high:,.0f}]" in said


def test_the_readmes_numbers_of_the_monitor_are_those_of_the_shipped_tables():
    said = " ".join(README.split()).replace("−", "-")
    run, published = newest("cores", "article"), "sched_switch_cores_published"
    source = {
        (row["measure"], row["denominator"], row["stress_threads"]): row
        for row in table(run, "source")
    }

    def ratio(measure, threads, digits):
        row = source[measure, published, threads]
        low, high = (f"{float(row['ratio_' + end]):.{digits}f}" for end in ("low", "high"))
        return f"{float(row['ratio']):.{digits}f} times [{low}, {high}]"

    assert f"took {ratio('task_clock', '0', 2)} the CPU time of the published monitor" in said
    assert f"and {ratio('task_clock', '200', 1)} beside 200 threads (54)" in said
    whole = float(source["with_program", published, "0"]["ratio"])
    assert f"other tasks {whole:.2f} and {ratio('with_program', '200', 2)}" in said
    for measure, threads, shown in (("task_clock", "0", 22), ("task_clock", "200", 54)):
        assert float(source[measure, published, threads]["published_ratio"]) == shown
    with (ROOT / "data" / "raw" / run / "trials.csv").open(newline="", encoding="utf-8") as file:
        trials = [row for row in csv.DictReader(file) if row["kind"] == "from_start"]
    there = [
        statistics.median(
            int(row["processes"])
            for row in trials
            if row["stress_threads"] == threads and row["arm"] == "top" and int(row["block"]) > 0
        )
        for threads in ("0", "200")
    ]
    assert f"There were {there[0]:.0f} and {there[1]:.0f} processes;" in said
    arms = {(row["arm"], row["stress_threads"]): row for row in table(run, "arms")}
    polling, ours = arms["proc_stat_cores", "200"], arms["sched_switch_cores", "200"]
    ends = ", ".join(f"{float(ours['headline_' + end]):.2f}" for end in ("low", "high"))
    assert f"took {float(polling['headline']):.4f} % of a core beside 200 threads" in said
    assert f"corrected monitor {float(ours['headline']):.2f} % [{ends}]" in said
    assert float(ours["others"]) / float(ours["headline"]) > 0.95, "nearly all in other tasks"
    slopes = {row["arm"]: row for row in table(run, "threads")}
    top, monitor = (
        [
            float(slopes[arm]["ns_per_thread_and_scrape" + end]) / 1e3
            for end in ("", "_low", "_high")
        ]
        for arm in ("top", "sched_switch_cores")
    )
    assert f"`top` by {top[0]:.0f} µs a thread and scrape" in said
    assert f"monitor by {monitor[0]:.0f} µs [{monitor[1]:.0f}, {monitor[2]:.0f}]" in said
    off = {(row["arm"], row["load"]): row for row in table(run, "core_accuracy")}
    short = {
        arm: float(off[arm, "20 % in bursts of 0.2 ms"]["error_points"])
        for arm in ("sched_switch_cores", "top", "mpstat")
    }
    assert f"off by {short['sched_switch_cores']:.1f} points of a CPU" in said
    assert f"`top` by {short['top']:.0f}, `mpstat` by {short['mpstat']:.0f};" in said


def test_the_readmes_instructions_of_the_floors_are_those_of_the_shipped_tables():
    said = " ".join(README.split())
    rows = table(newest("processes", "exact"), "instructions_per_scrape")
    at = {row["arm"]: row for row in rows if row["processes"] == "600"}

    def value(arm, name):
        return float(at[arm][name + "_instructions"])

    share = value("proc_stat_tuned", "total") / value("proc_stat", "total")
    assert f"tuned polling takes {100 * share:.0f} % of the instructions" in said
    assert f"a scrape of {value('sched_switch', 'agent') / 1e3:.1f} k in its own cgroup" in said
    assert f"only sleeps: {value('null_agent', 'agent') / 1e3:.1f} k)" in said
    assert f"and {value('sched_switch', 'bpf') / 1e3:.1f} k in its programs" in said
    of_one = {
        (row["arm"], row["pace"]): row for row in table(newest("accounts", "exact"), "calibration")
    }
    ours, empty = (
        round(float(of_one[arm, "hot"]["ns_per_switch"]) / 2)
        for arm in ("sched_switch", "empty_switch")
    )
    assert f"and {ours} on a context switch, of which an empty program on the same hook is" in said
    assert f"the same hook is {empty} (" in said
