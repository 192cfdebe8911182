"""Stands in for QEMU where a test is about the host's side: takes its words, leaves what it would.

What it does is the text of ``FAKE_QEMU``: good, stall, panic, truncated, refuse, memory, unmarked,
failed or silent. Good runs the guest's plan in no time: each planned trial gets a row.
"""

import csv
import hashlib
import io
import json
import os
import re
import sys
import tarfile
import time
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
words = sys.argv[1:]
manner = os.environ.get("FAKE_QEMU", "good")
if words == ["--version"]:
    print("QEMU emulator version " + os.environ.get("FAKE_QEMU_VERSION", "7.2.22 (Debian 1)"))
    sys.exit()


def option(pattern):
    return re.search(pattern, "\n".join(words))[1]


console = Path(option(r"file,id=console,path=(.*)"))
result = Path(option(r"file,id=result,path=(.*)"))
marks = Path(option(r"marks=([^,]*)"))
initrd = Path(words[words.index("-initrd") + 1])
marks.touch()
result.touch()


def trials():
    text = initrd.read_bytes()
    at = text.rindex(b'{"schema"')
    plan, _ = json.JSONDecoder().raw_decode(text[at:].split(b"\0")[0].decode())
    return plan["trials"]


def rows():
    for planned in trials():
        counted = planned["kind"] in ("cost", "empty") and planned["arm"] != "absent"
        status, reason = ("ok", "") if planned["arm"] != "absent" else ("unavailable", "no hook")
        yield planned | {
            "study": "processes",
            "instrument": "cgroup2",
            "status": status,
            "reason": reason,
            "started_utc": "2024-06-01T00:00:09Z",
            "window_ns": 1000 if counted else "",
        }


def run_folder():
    schema = json.loads((ROOT / "data/schema.json").read_text())["tables"]["trials"]["columns"]
    text = io.StringIO()
    table = csv.DictWriter(text, [c["name"] for c in schema], "", "ignore", lineterminator="\n")
    table.writeheader()
    count = 0
    with open(marks, "w") as file:
        for row in rows():
            table.writerow(row)
            if row["window_ns"] and manner != "unmarked":
                number = row["trial"] % 2**14
                count += 1000
                print(2 * number, count, count, 0, file=file)
                print(2 * number + 1, count + row["trial"] + 1, count + 7, 3, file=file)
    manifest = {"instrument": "cgroup2", "fingerprint": {"release": "6.1"}, "study": "processes",
                "preset": "test", "programs_loaded_before": []}  # fmt: skip
    return {"trials.csv": text.getvalue(), "manifest.json": json.dumps(manifest)}


def stream(files):
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    data = zlib.compress(held.getvalue())
    return f"probetax {len(data)} {hashlib.sha256(data).hexdigest()}\n".encode() + data


console.write_text("Linux version 6.1\ninit started\n")
if manner == "stall":
    with open(console, "a") as file:
        file.write("BUG: soft lockup\n")
    time.sleep(300)
elif manner == "panic":
    console.write_text("Kernel panic - not syncing: VFS: no root\r\n---[ end Kernel panic ]---\n")
elif manner == "truncated":
    result.write_bytes(stream({"trials.csv": "trial\n"})[:-5])
elif manner == "refuse":
    sys.exit(print("qemu: could not load kernel", file=sys.stderr) or 1)
elif manner == "memory":
    os.kill(os.getpid(), 9)
elif manner == "failed":
    console.write_text("init: not built: top\ninit: the command ended with status 2\n")
elif manner != "silent":
    result.write_bytes(stream(run_folder()))
