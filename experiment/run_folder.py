"""A run's folder: written once, row by row, and safe to go on with after any interruption.

``trials.csv`` gets one row per trial, flushed to the disk when the trial ends; the samples of a
trial go to ``scrapes.csv.gz`` just before it, as a gzip member of their own. A row that was being
written when the machine stopped is moved to ``log/`` and the trial is run again.
"""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import os
import re
import time
import zlib
from pathlib import Path
from typing import Any

from experiment.plan_hash import plan_hash

_SCHEMA = Path(__file__).resolve().parent.parent / "data" / "schema.json"


class RunError(Exception):
    """The folder or the plan cannot be used; one line with the cause and the cure."""


def run_name(plan: dict[str, Any], host: str | None = None, now: float | None = None) -> str:
    """``<UTC time>-<host>-<short hash>``, the folder name of a new run."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    name = re.sub(r"[^A-Za-z0-9]+", "-", host or os.uname().nodename).strip("-")[:32] or "host"
    return f"{stamp}-{name.lower()}-{plan_hash(plan)[:8]}"


def schema_version() -> int:
    """The version of the schema that the runner writes."""
    with open(_SCHEMA, encoding="utf-8") as file:
        return int(json.load(file)["schema"])


def columns(table: str) -> list[str]:
    """Column names of a raw table, in order, from the shared schema."""
    with open(_SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    return [column["name"] for column in schema["tables"][table]["columns"]]


#: Tables of samples, several to a trial, and their files.
_SAMPLES = {"scrapes": "scrapes.csv.gz", "cores": "cores.csv.gz"}


def samples_of(kind: str | None) -> str:
    """The table that a trial's samples belong to, by its kind."""
    return "cores" if kind == "cores" else "scrapes"


class RunFolder:
    """The open folder of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path / "log"
        self._columns = columns("trials")
        self._samples = {file: columns(table) for table, file in _SAMPLES.items()}
        self.done: set[int] = set()

    def create(self, manifest: dict[str, Any]) -> None:
        """Make the folder and its manifest. Raises RunError if there is something already."""
        if (self.path / "manifest.json").exists():
            raise RunError(f"{self.path} already holds a run; resume it or choose another folder")
        try:
            # A start that was killed at once leaves no more than the manifest it was writing.
            if self.path.exists() and {p.name for p in self.path.iterdir()} - {"manifest.json.new"}:
                raise RunError(
                    f"{self.path} is not empty and holds no manifest.json; choose another folder"
                )
            self.path.mkdir(parents=True, exist_ok=True)
            self._write_manifest(manifest)
            self.log.mkdir()
            self._write("trials.csv", _csv_line(self._columns, self._columns))
        except OSError as error:
            raise RunError(
                f"{self.path} cannot be written ({error.strerror}); choose another with --output"
            ) from error

    def resume(self, plan: dict[str, Any], fingerprint: dict[str, Any], instrument: str) -> None:
        """Take up an unfinished run.

        Raises RunError if it is not this plan's, this machine's or this instrument's.
        """
        try:
            manifest = json.loads((self.path / "manifest.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunError(f"{self.path} holds no run to resume (no manifest.json)") from None
        except ValueError as error:
            raise RunError(
                f"{self.path}/manifest.json is damaged ({error}); start a new run"
            ) from error
        if manifest.get("plan_hash") != plan_hash(plan):
            raise RunError(
                f"{self.path} was started with another plan; resume it with its own manifest"
            )
        _same_machine(self.path, manifest.get("fingerprint") or {}, fingerprint)
        used = manifest.get("instrument", instrument)
        if used != instrument:
            raise RunError(
                f"{self.path} was measured with {used}, now {instrument} would be used; go on with "
                "the same rights as before, or start a new run"
            )
        self.log.mkdir(exist_ok=True)
        self.done = self._whole_rows()
        for file in self._samples:
            self._keep_whole_samples(file)

    def append(self, row: dict[str, Any], samples: list[dict[str, Any]]) -> None:
        """Store a finished trial; on return it is on the disk.

        Raises RunError if the disk is full, and then leaves no part of the row. Raises KeyError for
        a column that the schema does not know: nothing is dropped in silence.
        """
        if unknown := set(row) - set(self._columns):
            raise KeyError(f"columns missing in data/schema.json: {sorted(unknown)}")
        if samples:
            file = _SAMPLES[samples_of(row.get("kind"))]
            names = self._samples[file]
            text = "".join(_csv_line(names, sample) for sample in samples)
            if not (self.path / file).exists():
                text = _csv_line(names, names) + text
            self._append(file, gzip.compress(text.encode(), mtime=0))
        self._append("trials.csv", _csv_line(self._columns, row).encode())
        self.done.add(int(row["trial"]))

    def hand_over(self, user: int, group: int) -> None:
        """Give the folder to the user who called sudo."""
        for folder, _, files in os.walk(self.path):
            os.chown(folder, user, group)
            for name in files:
                os.chown(os.path.join(folder, name), user, group)

    def _whole_rows(self) -> set[int]:
        """Trials that are wholly on disk; a half-written last line is set aside in ``log/``."""
        path = self.path / "trials.csv"
        data = path.read_bytes() if path.exists() else b""
        end = data.rfind(b"\n") + 1
        if data[end:]:
            with open(self.log / "half-written-rows.txt", "ab") as aside:
                aside.write(data[end:] + b"\n")
            os.truncate(path, end)
        reader = csv.reader(io.StringIO(data[:end].decode("utf-8", "replace")))
        header = next(reader, None)
        if header is None:
            self._write("trials.csv", _csv_line(self._columns, self._columns))
            return set()
        if header != self._columns:
            raise RunError(f"{path}: the columns are not those of data/schema.json; start anew")
        done: set[int] = set()
        for number, words in enumerate(reader, start=2):
            if len(words) != len(header) or not words[0].isdigit():
                raise RunError(f"{path}, line {number}: damaged row; restore it or start anew")
            done.add(int(words[0]))
        return done

    def _keep_whole_samples(self, file: str) -> None:
        """Drop samples of trials that will be run again, and a torn gzip tail."""
        path, names = self.path / file, self._samples[file]
        if not path.exists():
            return
        text, lost = _gunzip_whole(path.read_bytes())
        if lost:
            with open(self.log / f"undecodable-{file.split('.')[0]}.bin", "ab") as aside:
                aside.write(lost)
        lines = text.decode().splitlines(keepends=True)
        kept = [line for line in lines[1:] if int(line.split(",", 1)[0]) in self.done]
        temporary = path.with_suffix(".new")
        whole = "".join([_csv_line(names, names), *kept])
        temporary.write_bytes(gzip.compress(whole.encode(), mtime=0))
        temporary.replace(path)

    def _write_manifest(self, manifest: dict[str, Any]) -> None:
        self._write("manifest.json", json.dumps(manifest, indent=1, sort_keys=True) + "\n")

    def _write(self, name: str, text: str) -> None:
        temporary = self.path / (name + ".new")
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path / name)

    def _append(self, name: str, data: bytes) -> None:
        descriptor = os.open(self.path / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        before = os.fstat(descriptor).st_size
        try:
            if os.write(descriptor, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(descriptor)
        except OSError as error:
            os.ftruncate(descriptor, before)
            raise RunError(
                f"{self.path / name}: {error.strerror}; make room and resume, nothing is lost"
            ) from error
        finally:
            os.close(descriptor)


def _same_machine(path: Path, started: dict[str, Any], here: dict[str, Any]) -> None:
    """Two machines in one run would be two populations in one interval."""
    for name in ("architecture", "cpu_model", "cpus_online", "release"):
        if name in started and name in here and started[name] != here[name]:
            raise RunError(
                f"{path} was started on another machine ({name} {started[name]}, here "
                f"{here[name]}); start a new run"
            )


def _csv_line(names: list[str], row: dict[str, Any] | list[str]) -> str:
    """One CSV line; None becomes an empty field. Line breaks in a reason become spaces."""
    values = row if isinstance(row, list) else [row.get(name) for name in names]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(
        ["" if v is None else " ".join(v.split()) if isinstance(v, str) else v for v in values]
    )
    return out.getvalue()


def _gunzip_whole(data: bytes) -> tuple[bytes, bytes]:
    """(text of the complete gzip members, the bytes from the first torn or damaged one on)."""
    text = b""
    while data:
        member = zlib.decompressobj(wbits=31)
        try:
            part = member.decompress(data)
        except zlib.error:
            break
        if not member.eof:
            break
        text += part
        data = member.unused_data
    return text, data
