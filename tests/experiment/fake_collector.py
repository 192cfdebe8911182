"""A collector for tests of the runner: follows the protocol and can be told to misbehave.

Its records are made up and serve no measurement.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--interval-ms", type=int, default=1000)
parser.add_argument("--burn-ms", type=float, default=0.0)
parser.add_argument("--child", action="store_true")
parser.add_argument("--mode", default="good")
parser.add_argument("--lost", type=int, default=0)
parser.add_argument("--dump", action="store_true")
options = parser.parse_args()


def burn(milliseconds):
    end = time.process_time() + milliseconds / 1000
    while time.process_time() < end:
        pass


ended = False


def end(number, frame):
    global ended
    ended = True


signal.signal(signal.SIGTERM, signal.SIG_IGN if options.mode == "deaf" else end)
if options.mode == "unavailable":
    sys.exit(print("no such hook here", file=sys.stderr) or 3)
if options.mode == "crash":
    sys.exit(print("it broke", file=sys.stderr) or 1)
if options.child:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
if options.mode != "mute":
    os.write(3, b"ready\n")
start = time.monotonic_ns()
scrapes, at, cpu = 0, [], []
while not ended:
    wake = start + (scrapes + 1) * options.interval_ms * 1_000_000
    while not ended and (left := wake - time.monotonic_ns()) > 0:
        time.sleep(min(left / 1e9, 0.05))
    if ended:
        break
    burn(options.burn_ms)
    scrapes += 1
    at.append(wake)
    cpu.append(time.process_time_ns())
    if options.dump:
        record = {"scrape": scrapes, "at_ns": wake, "processes": [[os.getpid(), 1, 1000]]}
        os.write(4, json.dumps(record).encode() + b"\n")
    if options.mode == "dies":
        sys.exit(9)
closing = {"scrapes": scrapes, "records": 1, "lost": options.lost, "scrape_at_ns": at}
os.write(3, json.dumps(closing | {"scrape_cpu_ns": cpu}).encode() + b"\n")
