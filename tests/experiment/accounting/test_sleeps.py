"""The scrapes of an agent that says nothing are counted by its sleeps."""

import subprocess
import sys
import time

from experiment.accounting import sleeps

NAPS = """
import sys, time
sys.stdin.readline()
for _ in range(7):
    time.sleep(0.01)
print("slept", flush=True)
sys.stdin.readline()
while True:
    pass
"""


def test_each_nap_of_a_process_is_counted_and_work_is_not_sleep():
    words = [sys.executable, "-c", NAPS]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, bufsize=0, **pipes) as process:
        until = time.monotonic() + 20
        while not sleeps.asleep([process.pid]) or sleeps.count([process.pid]) == 0:
            assert time.monotonic() < until
            time.sleep(0.05)
        before = sleeps.count([process.pid])
        process.stdin.write(b"\n")
        process.stdout.readline()
        while not sleeps.asleep([process.pid]):
            time.sleep(0.01)
        # the naps, and the wait for the next line
        assert 8 <= sleeps.count([process.pid]) - before <= 10
        process.stdin.write(b"\n")
        time.sleep(0.2)
        assert not sleeps.asleep([process.pid])
        process.kill()
    assert sleeps.count([process.pid]) == 0 and sleeps.asleep([])
