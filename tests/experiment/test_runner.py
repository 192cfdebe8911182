"""The runner as its users start it: isolated, standard library only, killed at any moment."""

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from experiment import doctor
from experiment.accounting import group
from experiment.kernel import enable_bpf_stats, program_ids
from experiment.plan import build
from experiment.probes.cgroups import hierarchies

ROOT = Path(__file__).resolve().parents[2]
FAKE = str(Path(__file__).with_name("fake_collector.py"))
PYTHON = "/usr/bin/python3"


NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def reachable_by_nobody(folder):
    """pytest's folders are private; let others pass through them."""
    for parent in (folder, *folder.parents):
        if parent != Path("/") and not os.stat(parent).st_mode & 0o001:
            os.chmod(parent, os.stat(parent).st_mode | 0o011)


def arm(*words):
    return {
        "command": ["{python}", FAKE, "--interval-ms", "{interval_ms}", *words],
        "ready": "fd3",
        "needs": [],
        "language": "Python",
        "dump": True,
        "context": "none",
    }


ARMS = {
    "idle": arm(),
    "busy": arm("--burn-ms", "20"),
    "absent": arm("--mode", "unavailable"),
    "broken": arm("--mode", "crash"),
    "lossy": arm("--lost", "4"),
}


def make_plan(tmp_path, names=("idle", "busy"), blocks=2, window_s=0.4, **values):
    trials = []
    for block in range(blocks):
        for position, name in enumerate(names):
            trials.append(
                {
                    "trial": len(trials),
                    "block": block,
                    "position": position,
                    "kind": "cost",
                    "arm": name,
                    "replica": 1,
                    "statistics": "off",
                    "processes": None,
                    "interval_ms": 100,
                    "window_s": window_s,
                }
                | values
            )
    plan = {
        "schema": 5,
        "study": "processes",
        "preset": "test",
        "paths": {
            "root": str(ROOT),
            "build": str(ROOT / "bpf" / "build"),
            "python": sys.executable,
            "system_python": PYTHON,
        },
        "arms": ARMS,
        "trials": trials,
    }
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    return path


def command(plan, out, *options):
    return [PYTHON, "-I", "-S", str(ROOT / "experiment"), str(plan), str(out), *options]


def run(plan, out, *options, prefix=()):
    return subprocess.run(
        [*prefix, *command(plan, out, *options)],
        text=True,
        capture_output=True,
        cwd="/",
        env={"PATH": os.environ["PATH"]},
        timeout=120,
    )


def rows(out):
    with open(out / "trials.csv", newline="") as file:
        return list(csv.DictReader(file))


def ended(plan, out, number, *, after, seconds):
    """Signal a run so many seconds after as many trials; what was loaded and running until then."""
    with subprocess.Popen(command(plan, out), stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if json.loads(line).get("done") == after:
                break
        time.sleep(seconds)
        loaded = traces()
        process.send_signal(number)
        process.stdout.read()
        process.wait(timeout=20)
    return loaded


def traces():
    """What a run could leave behind: groups, programs, processes, mounts, the statistics switch."""
    left = set()
    found = hierarchies()
    for root in (found.v2, found.cpuacct):
        if root:
            left |= {str(p) for p in Path(root).glob(group.PREFIX + "*")}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                words = Path(f"/proc/{entry}/cmdline").read_bytes()
            except OSError:
                continue
            if any(
                name in words for name in (b"fake_collector", b"idle_processes", b"switch_load")
            ):
                left.add(words)
    left |= set(Path("/proc/self/mounts").read_text().splitlines())
    left.add("statistics " + Path("/proc/sys/kernel/bpf_stats_enabled").read_text())
    try:
        left |= set(program_ids())
    except OSError:
        pass
    return left


@pytest.fixture
def clean():
    before = traces()
    yield
    until = time.monotonic() + 8
    while traces() - before and time.monotonic() < until:
        time.sleep(0.1)
    assert not traces() - before


def test_a_plan_becomes_rows_under_an_isolated_interpreter(tmp_path, clean):
    done = run(make_plan(tmp_path), tmp_path / "run")
    assert done.returncode == 0, done.stderr
    found = rows(tmp_path / "run")
    assert [r["status"] for r in found] == ["ok"] * 4, found
    for row in found:
        assert row["scrapes"] == "4"
        assert row["bpf_run_ns"] == ""
        assert int(row["window_ns"]) >= 0.4e9
        assert row["arm"] == "idle" or int(row["agent_ns"]) > 80e6
    # what else the machine does only adds to a window's length and to what an agent burns in it
    assert min(int(row["window_ns"]) for row in found) < 0.45e9
    least = {
        arm: min(int(r["agent_ns"]) for r in found if r["arm"] == arm) for arm in ("idle", "busy")
    }
    assert least["busy"] < 130e6 and least["idle"] < 40e6
    samples = gzip.decompress((tmp_path / "run" / "scrapes.csv.gz").read_bytes()).decode()
    assert samples.count(",1\n") == 16
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["fingerprint"]["versions"]["psutil"] == psutil.__version__
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [e["event"] for e in events if e["event"] != "warning"] == (
        ["start"] + ["trial"] * 4 + ["end"]
    )
    assert events[-1]["status"] == "finished"


def test_the_harness_stays_asleep_inside_a_window(tmp_path, clean):
    """What it uses all the same is the reading at the edges: as much in a window of any length."""
    short_s, long_s = 0.2, 1.2
    path = make_plan(tmp_path, names=("idle",), blocks=8)
    plan = json.loads(path.read_text())
    for trial in plan["trials"]:
        trial["window_s"] = (short_s, long_s)[trial["trial"] % 2]
    path.write_text(json.dumps(plan))
    run(path, tmp_path / "run")
    found = rows(tmp_path / "run")
    assert [row["status"] for row in found] == ["ok"] * 8, found
    short, long = (sorted(int(row["harness_ns"]) for row in found[n::2]) for n in (0, 1))
    # A machine that is busy with others only adds, so the least is the harness's own; one that
    # polls does so in every window. Half of the windows may be interrupted at an edge.
    assert sorted(int(row["harness_wakeups"]) for row in found)[3] == 0, found
    assert short[0] < 2e6, "reading the instruments, caches cold"
    assert long[0] - short[0] < 0.0005 * 1e9 * (long_s - short_s)


def test_a_kernel_that_refuses_gives_unavailable_once_tried_and_the_other_arms_go_on(
    tmp_path, clean
):
    run(make_plan(tmp_path, names=("absent", "idle", "broken", "lossy")), tmp_path / "run")
    found = {(r["arm"], r["block"]): r for r in rows(tmp_path / "run")}
    for block in "01":
        absent = found["absent", block]
        assert (absent["status"], absent["reason"]) == ("unavailable", "no such hook here")
        assert absent["agent_ns"] == ""
        assert found["idle", block]["status"] == "ok"
        assert found["broken", block]["status"] == "failed"
        assert "it broke" in found["broken", block]["reason"]
        assert found["lossy", block]["status"] == "invalid"
        assert "lost 4" in found["lossy", block]["reason"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_an_interrupted_run_resumes_and_leaves_nothing_behind(tmp_path, clean, number):
    plan, out = make_plan(tmp_path, blocks=2), tmp_path / "run"
    with subprocess.Popen(command(plan, out), stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if json.loads(line).get("done") == 3:
                break
        time.sleep(0.4)  # inside the fourth window
        process.send_signal(number)
        process.stdout.read()
        code = process.wait(timeout=20)
    assert code == (-signal.SIGKILL if number == signal.SIGKILL else 130)
    before = rows(out)
    assert [r["trial"] for r in before] == ["0", "1", "2"]
    again = run(plan, out, "--resume")
    assert again.returncode == 0, again.stderr
    after = rows(out)
    assert [r["trial"] for r in after] == [str(n) for n in range(4)]
    assert after[:3] == before
    assert not list((out / "log").glob("*.stderr"))


def test_a_window_is_not_begun_while_processes_come_and_go_but_tried_again():
    from experiment import trial

    counts = iter([107, 93, 100])
    begun = []

    class Idle:
        def ensure(self, target, threads):
            assert threads == 1
            begun.append(target)

    class Load:
        def ensure(self, planned):
            assert planned == {"processes": 100}

    def measure(planned, setting, row, scrapes):
        if (seen := next(counts)) != 100:
            raise trial.Unsettled(f"{seen} processes at the start, 100 planned")
        row["processes"] = seen

    row = {}
    setting = type("Setting", (), {"idle": Idle(), "load": Load()})
    trial._settled(measure, {"processes": 100}, setting, row, [])
    assert row == {"processes": 100} and begun == [100, 100, 100]
    counts = iter([107, 93, 92, 100])
    with pytest.raises(trial.Unsettled, match="92 processes"):
        trial._settled(measure, {"processes": 100}, setting, row, [])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_real_collectors_statistics_and_load_are_gone_after_any_end(tmp_path, clean, number):
    reasons = [a["reason"] for a in doctor.report({})["arms_possible"].values() if a["reason"]]
    if not doctor.report({})["arms_possible"]["btf"]["possible"]:
        pytest.skip(f"unavailable: {reasons}")
    present = sum(name.isdigit() for name in os.listdir("/proc"))
    made = build("processes", "smoke", root=ROOT, python=sys.executable, system_python=PYTHON,
                 present=present, arms=["null_agent", "sched_switch", "sched_switch_published"],
                 process_counts=[present + 60])  # fmt: skip
    for planned in made["trials"]:
        planned["statistics"] = "on"
    plan, out = tmp_path / "plan.json", tmp_path / "run"
    plan.write_text(json.dumps(made))
    loaded = ended(plan, out, number, after=2, seconds=0.25)
    assert any("idle_processes" in str(trace) for trace in loaded), "nothing was running to clean"
    assert any(group.PREFIX in str(trace) for trace in loaded)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_design_points_load_fills_its_columns_and_is_gone_after_any_end(tmp_path, clean, number):
    present = sum(name.isdigit() for name in os.listdir("/proc"))
    point = {"point": 1, "processes": present + 120, "threads_per_process": 3,
             "switches_per_s": 500, "switching_tasks": 4}  # fmt: skip
    plan, out = (
        make_plan(tmp_path, names=("idle",), blocks=3, window_s=1.0, **point),
        tmp_path / "r",
    )
    loaded = ended(plan, out, number, after=1, seconds=0.5)
    for what in ("idle_processes", "switch_load", group.PREFIX):
        assert any(what in str(trace) for trace in loaded), f"no {what} to clean"
    row = rows(out)[0]
    asked = ("point", "threads_per_process", "switches_target", "switching_tasks")
    assert [row[name] for name in asked] == ["1", "3", "500", "4"]
    assert int(row["load_switches"]) >= 400 and int(row["load_ns"]) > 0
    assert int(row["threads"]) > int(row["processes"]) + 80


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_an_agent_started_ends_with_the_run_without_cgroups_too(tmp_path, number):
    """Two children of a shell that has ended: neither a parent nor a cgroup leads to them."""
    mark = f"60{os.getpid()}"
    plan = make_plan(tmp_path, names=("idle",), blocks=1, window_s=3.0)
    values = json.loads(plan.read_text())
    values["arms"]["idle"]["command"] = ["sh", "-c", f"sleep {mark} & sleep {mark} & sleep 1"]
    values["arms"]["idle"]["ready"] = {"after_s": 0.3}
    values["paths"]["python"] = PYTHON
    plan.write_text(json.dumps(values))
    reachable_by_nobody(tmp_path)
    prefix = NOBODY if os.geteuid() == 0 else []
    (tmp_path / "home").mkdir()
    if prefix:
        os.chown(tmp_path / "home", 65534, 65534)
    words = [*prefix, *command(plan, tmp_path / "home" / "run")]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        time.sleep(2.2)
        assert sleeping(mark), "the agent never ran"
        process.send_signal(number)
        process.wait(timeout=20)
    until = time.monotonic() + 8
    while sleeping(mark) and time.monotonic() < until:
        time.sleep(0.1)
    assert not sleeping(mark)


def sleeping(mark):
    """Processes with this argument that are not dead."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark.encode() in Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0"):
                found.append(entry)
        except OSError:
            continue
    return found


def test_a_program_that_was_not_built_is_told_before_anything_is_measured(tmp_path):
    plan = make_plan(tmp_path)
    values = json.loads(plan.read_text())
    values["paths"]["build"] = str(tmp_path)
    values["arms"]["idle"]["command"][0] = "{build}/proc_stat"
    plan.write_text(json.dumps(values))
    done = run(plan, tmp_path / "run")
    assert done.returncode == 2
    assert "not built: proc_stat" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("closing", "child"),
    [
        ('{"scrape_at_ns": null}', "sleep 600"),  # a child that holds the pipe open: waited for
        ('{"kernel_ns": 1.5, "lost": "many"}', "sleep 600 3>&-"),
        ("[]", "sleep 600 3>&-"),
        ("\\\\xff", "sleep 600 3>&-"),
    ],
)
def test_an_agent_with_a_senseless_closing_line_does_not_end_the_run(
    tmp_path, clean, closing, child
):
    plan = make_plan(tmp_path, names=("idle", "busy"), blocks=1)
    values = json.loads(plan.read_text())
    script = (
        f"echo ready >&3; end() {{ printf '%b' '{closing}\\n' >&3; exit 0; }}; "
        f"trap end TERM; {child} & wait"
    )
    values["arms"]["idle"]["command"] = ["bash", "-c", script.replace("{", "{{").replace("}", "}}")]
    plan.write_text(json.dumps(values))
    done = run(plan, tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert [r["trial"] for r in rows(tmp_path / "run")] == ["0", "1"]
    assert rows(tmp_path / "run")[1]["status"] == "ok"


def test_statistics_that_somebody_else_has_on_make_a_row_without_them_invalid(tmp_path, clean):
    if not doctor.report({})["arms_possible"]["btf"]["possible"]:
        pytest.skip("unavailable: no BPF here")
    plan = make_plan(tmp_path, names=("idle",), blocks=1)
    values = json.loads(plan.read_text())
    values["arms"]["idle"]["command"] = ["{build}/sched_switch", "--interval-ms", "{interval_ms}"]
    plan.write_text(json.dumps(values))
    descriptor = enable_bpf_stats()
    run(plan, tmp_path / "run")
    os.close(descriptor)
    row = rows(tmp_path / "run")[0]
    assert (row["status"], row["agent_ns"] != "") == ("invalid", True)
    assert "somebody else has BPF statistics on" in row["reason"]


def test_a_runner_killed_inside_a_window_leaves_no_driver_stopped(tmp_path):
    """papermill stands above the runner and is stopped with it: the guard lets it go on."""
    plan = make_plan(tmp_path, names=("idle",), blocks=1, window_s=6.0)
    driver = tmp_path / "papermill"
    words = command(plan, tmp_path / "run")
    driver.write_text(
        f"import subprocess; p = subprocess.Popen({words!r}, stdout=subprocess.DEVNULL)\n"
        "print(p.pid, flush=True); p.wait(); print('went on', flush=True)"
    )
    (tmp_path / "study").write_text(
        f"import subprocess, sys; subprocess.run([sys.executable, {str(driver)!r}])"
    )
    top = [sys.executable, str(tmp_path / "study")]
    with subprocess.Popen(top, stdout=subprocess.PIPE, text=True) as process:
        runner = int(process.stdout.readline())
        time.sleep(3)
        chain = Path(f"/proc/{runner}/stat").read_text().rpartition(")")[2].split()
        papermill = Path(f"/proc/{chain[1]}/stat").read_text().rpartition(")")[2].split()
        assert papermill[0] == "T", "papermill should stand still inside the window"
        os.kill(runner, signal.SIGKILL)
        assert process.stdout.readline() == "went on\n"


def test_a_reader_that_goes_away_ends_the_run(tmp_path, clean):
    plan, out = make_plan(tmp_path, blocks=20), tmp_path / "run"
    process = subprocess.Popen(command(plan, out), stdout=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=20) == 130


def test_a_finished_run_is_not_run_again(tmp_path, clean):
    plan, out = make_plan(tmp_path, blocks=1), tmp_path / "run"
    run(plan, out)
    before = (out / "trials.csv").read_bytes()
    refused = run(plan, out)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert "already holds a run" in refused.stderr
    assert run(plan, out, "--resume").returncode == 0
    assert (out / "trials.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not JSON"),
        ("{}", "lacks"),
        (
            '{"schema": 1, "study": "s", "preset": "p", "paths": {}, "arms": {}, "trials": []}',
            "finish the run with the version that began it",
        ),
        ('{"schema": 9, "study": "s", "preset": "p", "paths": {}, "arms": {}, "trials": []}', "9"),
        (None, "No such file"),
    ],
)
def test_a_bad_plan_gives_one_line(tmp_path, text, words):
    plan = tmp_path / "plan.json"
    if text is not None:
        plan.write_text(text)
    done = run(plan, tmp_path / "run")
    assert done.returncode == 2
    assert words in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_without_root_polling_still_runs_and_loading_bpf_is_unavailable(tmp_path, clean):
    if os.geteuid():
        pytest.skip("the whole suite already runs without root")
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    reachable_by_nobody(tmp_path)
    plan = make_plan(tmp_path, names=("idle", "busy", "idle"), blocks=1)
    values = json.loads(plan.read_text())
    values["paths"]["python"] = PYTHON
    values["trials"][2]["statistics"] = "on"
    plan.write_text(json.dumps(values))
    done = run(plan, home / "run", prefix=NOBODY)
    assert done.returncode == 0, done.stderr
    found = rows(home / "run")
    assert [r["status"] for r in found] == ["ok", "ok", "unavailable"], found
    assert "statistics cannot be switched on" in found[2]["reason"]
    assert {r["instrument"] for r in found} <= {"schedstat", "systemd"}
    assert int(found[1]["agent_ns"]) > int(found[0]["agent_ns"])
    manifest = json.loads((home / "run" / "manifest.json").read_text())
    assert "programs_loaded_before" not in manifest, "what may not be listed is absent, not null"


def test_the_runner_needs_nothing_but_the_standard_library():
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import experiment.runner; "
        "print([m for m in sys.modules if m.split('.')[0] in "
        "('yaml','numpy','pandas','psutil','tqdm','analysis','cli')])"
    )
    done = subprocess.run([PYTHON, "-I", "-S", "-c", code], text=True, capture_output=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_rows_use_the_columns_of_the_schema_only(tmp_path, clean):
    run(make_plan(tmp_path, blocks=1), tmp_path / "run")
    schema = json.loads((ROOT / "data" / "schema.json").read_text())
    names = [c["name"] for c in schema["tables"]["trials"]["columns"]]
    header = (tmp_path / "run" / "trials.csv").read_text().splitlines()[0]
    assert header.split(",") == names
