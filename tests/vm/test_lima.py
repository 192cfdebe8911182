"""The Lima template holds what Lima documents; its script brings the clone in and sets it up."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "vm" / "lima.yaml"

#: Keys of Lima 2.0's template (its documented default.yaml), of each object that ours has.
KEYS = {
    "": {
        "additionalDisks", "arch", "audio", "base", "caCerts", "containerd", "copyToHost", "cpus",
        "disk", "dns", "env", "firmware", "guestInstallPrefix", "hostResolver", "images", "memory",
        "message", "minimumLimaVersion", "mountInotify", "mountType", "mountTypesUnsupported",
        "mounts", "nestedVirtualization", "networks", "os", "param", "plain", "portForwards",
        "probes", "propagateProxyEnv", "provision", "rosetta", "ssh", "timezone",
        "upgradePackages", "user", "video", "vmOpts", "vmType",
    },
    "containerd": {"system", "user", "archives"},
    "provision": {
        "mode", "script", "file", "skipDefaultDependencyResolution", "playbook", "content",
        "overwrite", "owner", "path", "permissions", "expression", "format",
    },
    "probes": {"mode", "description", "script", "file", "hint"},
}  # fmt: skip
PROVISION_MODES = {"system", "user", "boot", "dependency", "data", "yq"}


def template() -> dict[str, Any]:
    content = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def unknown_keys(content: dict[str, Any]) -> list[str]:
    """Keys that Lima does not know; it refuses a template that has one."""
    found = [key for key in content if key not in KEYS[""]]
    for name, value in content.items():
        objects = value if isinstance(value, list) else [value]
        for item in objects:
            if isinstance(item, dict):
                found += [f"{name}.{key}" for key in item if key not in KEYS.get(name, ())]
    return found


def test_every_key_is_one_that_lima_documents() -> None:
    assert unknown_keys(template()) == []


def test_a_misspelt_key_is_found() -> None:
    content = template() | {"cpu": 2}
    content["probes"][0]["retries"] = 3
    assert unknown_keys(content) == ["cpu", "probes.retries"]


def test_the_machine_is_as_large_as_the_others() -> None:
    content = template()
    vagrant = (ROOT / "Vagrantfile").read_text()
    assert (content["cpus"], content["memory"]) == (2, "4GiB")
    assert set(re.findall(r"cpus = (\d+)", vagrant)) == {"2"}
    assert set(re.findall(r"memory = (\d+)", vagrant)) == {"4096"}


def test_it_asks_for_a_lima_that_has_what_it_uses() -> None:
    version = tuple(int(part) for part in template()["minimumLimaVersion"].split("."))
    assert version >= (2, 0, 0), "base: template:NAME is of 2.0"


def test_the_images_are_limas_own_so_that_each_architecture_has_one() -> None:
    content = template()
    assert content["base"] == "template:_images/ubuntu-24.04"
    assert "arch" not in content and "images" not in content and "vmType" not in content


def test_nothing_of_the_host_is_mounted_by_itself_and_no_container_engine_runs() -> None:
    content = template()
    assert "mounts" not in content
    assert content["containerd"] == {"system": False, "user": False}


def test_it_is_provisioned_by_a_script_beside_it_and_probed() -> None:
    content = template()
    assert content["provision"] == [{"mode": "system", "file": "lima.sh"}]
    assert {step["mode"] for step in content["provision"]} <= PROVISION_MODES
    script = TEMPLATE.parent / content["provision"][0]["file"]
    assert os.access(script, os.X_OK) and script.read_text().startswith("#!")
    (probe,) = content["probes"]
    assert probe["mode"] == "readiness" and probe["script"].startswith("#!")
    assert "/run/probetax-ready" in probe["script"] and "/run/probetax-ready" in script.read_text()


def test_the_commands_at_the_top_are_those_of_the_documents() -> None:
    head = TEMPLATE.read_text().split("minimumLimaVersion")[0]
    start, shell, copy = re.findall(r"limactl .+", head)
    assert "--tty=false" in start and start.endswith("vm/lima.yaml")
    assert start in (ROOT / "README.md").read_text()
    page = (ROOT / "docs" / "machines.md").read_text()
    assert all(line in page for line in (start, shell, copy))


# --- the script, with a guest around it that only pretends


@pytest.fixture
def guest(tmp_path: Path) -> Any:
    """A guest whose mounts, users and rights are fakes; run it with guest(), see guest.own."""
    clone = tmp_path / "a mounted clone"
    for name in ("vm", "bpf/build", ".venv", ".setup", ".git", "data/raw"):
        (clone / name).mkdir(parents=True)
        (clone / name / "file").write_text("of the host\n")
    for name in ("study", "vm/provision.sh"):
        (clone / name).write_text("#!/bin/bash\n")
        (clone / name).chmod(0o755)
    (clone / "vm/provision.sh").write_text('#!/bin/bash\necho "set up ${0%/vm/*}"\n')
    commands = tmp_path / "commands"
    commands.mkdir()
    escaped = str(clone).replace(" ", r"\x20")
    for name, text in {
        "findmnt": f"[ ! -e '{tmp_path}/mounted' ] || printf '%s\\n' /nowhere '{escaped}'",
        "sudo": 'echo "as $2"; shift 3; exec "$@"',
        "chown": "exit 0",
        "sleep": "exit 0",
    }.items():
        (commands / name).write_text(f"#!/bin/bash\n{text}\n")
        (commands / name).chmod(0o755)
    (tmp_path / "mounted").touch()

    class Guest:
        own = tmp_path / "own"
        mounted = tmp_path / "mounted"
        ready = tmp_path / "ready"
        source = clone

        def __call__(self) -> subprocess.CompletedProcess[str]:
            text = (ROOT / "vm" / "lima.sh").read_text()
            for old, new in {
                "own=/opt/probetax": f"own='{self.own}'",
                "{{.User}}": "somebody",
                "patience_s=120": "patience_s=0",
                "/run/probetax-ready": str(self.ready),
            }.items():
                assert old in text
                text = text.replace(old, new)
            script = tmp_path / "lima.sh"
            script.write_text(text)
            return subprocess.run(
                ["/bin/bash", script],
                env={"PATH": f"{commands}:/usr/bin:/bin"},
                capture_output=True,
                text=True,
                timeout=30,
            )

    return Guest()


def test_the_clone_comes_to_the_guests_own_disk_and_is_set_up_there(guest: Any) -> None:
    done = guest()
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"as somebody\nset up {guest.own}\n"
    assert guest.ready.exists()
    there = {path.name for path in guest.own.iterdir()}
    assert {"study", "vm", "bpf", ".git", "data"} == there, "what set-up makes stays at the host"
    assert not (guest.own / "bpf/build").exists()


def test_a_second_start_keeps_what_was_measured_and_sets_up_again(guest: Any) -> None:
    assert guest().returncode == 0
    (guest.own / "data/raw/measured").write_text("kept\n")
    guest.mounted.unlink()
    done = guest()
    assert done.returncode == 0, done.stderr
    assert (guest.own / "data/raw/measured").read_text() == "kept\n"
    assert "set up" in done.stdout


def test_a_copy_that_was_cut_off_is_begun_anew(guest: Any) -> None:
    half = guest.own.with_name("own.part")
    half.mkdir()
    (half / "torn").touch()
    assert guest().returncode == 0
    assert not (guest.own / "torn").exists() and not half.exists()


def test_without_a_mount_one_line_says_how_to_start(guest: Any) -> None:
    guest.mounted.unlink()
    done = guest()
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and "--mount-only ." in done.stderr
    assert not guest.own.exists() and not guest.ready.exists()


def test_a_failed_set_up_is_not_called_ready(guest: Any) -> None:
    (guest.source / "vm/provision.sh").write_text("#!/bin/bash\nexit 3\n")
    guest.ready.touch()  # of an earlier start
    assert guest().returncode == 3
    assert not guest.ready.exists()
