"""Which tests may run beside which: `./study test` has two CPUs for them, and some want both.

A test is in the lane of the longest entry that its id begins with. One without an entry is
``alone``: it judges time, or counts what is on the machine, and runs when nothing else does. The
other lanes run beside each other, each of them one test at a time.
"""

from __future__ import annotations

ALONE = "alone"
LANES = {
    # What neither measures nor leaves a trace on the machine.
    "computes": (
        "tests/analysis",
        "tests/cli",
        "tests/docs",
        "tests/experiment/test_arms.py",
        "tests/experiment/test_core_loads.py",
        "tests/experiment/test_core_reports.py",
        "tests/experiment/test_pilot.py",
        "tests/experiment/test_plan.py",
        "tests/experiment/test_points.py",
        "tests/experiment/test_sensor_designs.py",
        "tests/launcher",
        "tests/notebooks/test_stored.py",
        "tests/test_architecture.py",
        "tests/test_lanes.py",
        "tests/vm",
    ),
    # Emulated machines, real or stand-ins: how long they take is no result.
    "machines": (
        "tests/experiment/backends",
        "tests/notebooks/test_papermill.py::test_a_studys_notebook_measures_in_the_exact_machine",
        "tests/vm/test_counter.py",
        "tests/vm/test_machine.py",
        "tests/vm/test_real_image.py",
        "tests/vm/test_real_machine.py",
        "tests/vm/test_turns.py",
    ),
    # Real collectors and runs, judged by what is there at the end and not by any time.
    "live": (
        "tests/bpf/test_build.py",
        "tests/bpf/test_cleanup.py",
        "tests/bpf/test_sched_switch_reader.py",
        "tests/cli/review/test_command.py",
        "tests/cli/test_run.py",
        "tests/cli/upstream",
        "tests/experiment/test_runner.py::test_a_bad_plan",
        "tests/experiment/test_runner.py::test_a_finished_run",
        "tests/experiment/test_runner.py::test_a_kernel_that_refuses",
        "tests/experiment/test_runner.py::test_a_program_that_was_not_built",
        "tests/experiment/test_runner.py::test_a_reader_that_goes_away",
        "tests/experiment/test_runner.py::test_an_agent_with_a_senseless_closing_line",
        "tests/experiment/test_runner.py::test_an_interrupted_run_resumes",
        "tests/experiment/test_runner.py::test_rows_use_the_columns",
        "tests/notebooks/test_papermill.py::test_another_environments_kernel",
        "tests/notebooks/test_papermill.py::test_wrong_parameters",
    ),
    ALONE: (
        "tests/cli/advise/test_command.py",  # watches this machine
        "tests/cli/advise/test_observe.py",
        "tests/docs/test_add_a_collector.py",  # measures, with a number of processes
    ),
}


def lane_of(test: str) -> str:
    """The lane of a test, by its id."""
    fits = [
        (len(e), lane) for lane, entries in LANES.items() for e in entries if test.startswith(e)
    ]
    return max(fits)[1] if fits else ALONE


def lanes_in(path: str) -> set[str]:
    """The lanes that a file's tests may be in; any, for a folder."""
    inside = [lane for lane, entries in LANES.items() for e in entries if e.startswith(path + "::")]
    return {lane_of(path + "::"), *inside}
