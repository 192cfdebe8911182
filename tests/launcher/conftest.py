"""A clone in a folder of its own, on a Debian that only pretends: its commands come first."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

APT_GET = r"""#!/bin/bash
echo "$*" >>"$FAKE/apt.log"
simulate=no action='' names=()
while [ $# -gt 0 ]; do
  case $1 in
    -s) simulate=yes ;;
    -o) shift ;;
    -*) ;;
    update | install | remove | purge) action=$1 ;;
    *) names+=("$1") ;;
  esac
  shift
done
[ ! -e "$FAKE/broken" ] || [ $simulate = yes ] || { echo "E: dpkg was interrupted"; exit 100; }
for name in "${names[@]}"; do
  case $simulate/$action in
    yes/install)
      echo "Inst $name (1.0 fake)"
      [ "$name" != clang ] || echo "Inst libfake (1.0 fake)" ;;
    no/install)
      echo "$name" >>"$FAKE/installed"
      [ "$name" != clang ] || echo libfake >>"$FAKE/installed" ;;
    yes/remove)
      echo "Remv $name [1.0]"
      [ "$name" != libfake ] || [ ! -e "$FAKE/foreign" ] || echo "Remv foreign [1.0]" ;;
    no/purge)
      grep -vx "$name" "$FAKE/installed" >"$FAKE/rest"
      mv "$FAKE/rest" "$FAKE/installed" ;;
  esac
done
exit 0
"""
DPKG_QUERY = r"""#!/bin/bash
status=0
for name in "$@"; do
  case $name in -*) continue ;; esac
  if grep -qx "$name" "$FAKE/installed"; then echo "installed $name"; else status=1; fi
done
exit $status
"""
APT_CACHE = r"""#!/bin/bash
case $1 in
  policy) echo "$2:"; echo "  Candidate: 1.0"; seq 20000 ;;
  show) for name in "${@:3}"; do echo "Package: $name"; echo "Installed-Size: 10240"; done ;;
esac
"""
DPKG = "#!/bin/bash\necho amd64\n"
MAKEFILE = "all: build/collector\nbuild/collector:\n\tmkdir -p build && touch $@\n"
STUB = 'import sys\n\nprint("reached", *sys.argv[1:])\n'


@dataclass
class Clone:
    """A copy of the launcher with a fake system around it."""

    root: Path
    fake: Path

    def __call__(
        self, *words: str, cwd: str = "/", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{self.fake / 'bin'}:/usr/bin:/bin",
            "FAKE": str(self.fake),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.fake),
            **variables,
        }
        return subprocess.run(
            [str(self.root / "study"), *words],
            env=environment,
            cwd=cwd,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )

    def put(self, name: str, script: str) -> None:
        """Put a command first on PATH."""
        target = self.fake / "bin" / name
        target.write_text(script)
        target.chmod(0o755)

    @property
    def installed(self) -> set[str]:
        """Names of the packages that the fake dpkg calls installed."""
        return set((self.fake / "installed").read_text().split())

    @property
    def apt_calls(self) -> list[str]:
        """Arguments of every call of apt-get so far."""
        log = self.fake / "apt.log"
        return log.read_text().splitlines() if log.exists() else []

    def snapshot(self) -> dict[str, tuple[int, int]]:
        """Every file of the clone with its size and time of change."""
        return {
            str(path): (path.lstat().st_size, path.lstat().st_mtime_ns)
            for path in sorted(self.root.rglob("*"))
        }


def _wheel(folder: Path) -> str:
    """Write a tiny wheel; the line of a lock that asks for it."""
    name = "tinything-1.0-py3-none-any.whl"
    info = "tinything-1.0.dist-info"
    files = {
        "tinything/__init__.py": "value = 1\n",
        "tinything/other.py": "other = 2\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tinything\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / name, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    return f"tinything==1.0 --hash=sha256:{digest}\n"


def make_clone(folder: Path) -> Clone:
    """Make a clone under a path with a space, on a Debian with nothing installed."""
    root, fake = folder / "a clone", folder / "fake"
    (fake / "bin").mkdir(parents=True)
    (fake / "installed").write_text("make\ngcc\nunrelated\n")
    for part in ("bpf", "cli", "data/raw/processes"):
        (root / part).mkdir(parents=True)
    shutil.copy2(ROOT / "study", root)
    shutil.copytree(ROOT / "vm", root / "vm", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "requirements.lock").write_text(_wheel(fake))
    (root / "bpf" / "Makefile").write_text(MAKEFILE)
    (root / "cli" / "__init__.py").write_text("")
    (root / "cli" / "__main__.py").write_text(STUB)
    (root / "data/raw/processes/measured.csv").write_text("kept\n")
    clone = Clone(root, fake)
    for name, script in {
        "apt-get": APT_GET,
        "dpkg-query": DPKG_QUERY,
        "apt-cache": APT_CACHE,
        "dpkg": DPKG,
    }.items():
        clone.put(name, script)
    return clone


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A clone on which nothing has been set up."""
    return make_clone(tmp_path)


@pytest.fixture
def ready(clone: Clone) -> Clone:
    """A clone whose Python side is there (it takes seconds to make), its packages missing."""
    venv = clone.root / ".venv"
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", venv], check=True)
    site = next((venv / "lib").glob("python3*")) / "site-packages"
    (site / "probetax.pth").write_text(f"{clone.root}\n")
    digest = hashlib.sha256((clone.root / "requirements.lock").read_bytes()).hexdigest()[:16]
    version = platform_version()
    (venv / "probetax.stamp").write_text(f"{digest} {version} {clone.root}\n")
    return clone


def platform_version() -> str:
    """The version of the system's Python, as a stamp records it."""
    command = ["/usr/bin/python3", "-c", "import platform; print(platform.python_version())"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone with a whole environment; it takes long to make, so the tests hand it on.

    Each leaves it so that the next call of the launcher makes it whole again.
    """
    clone = make_clone(tmp_path_factory.mktemp("installed"))
    # settings that would send pip's files elsewhere must not
    lost = str(clone.fake / "elsewhere")
    done = clone("plan", "--preset", "quick", PIP_TARGET=lost, PIP_USER="1", PYTHONPATH=lost)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "reached plan --preset quick"
    assert clone.apt_calls == [], "a plan needs Python only"
    assert not Path(lost).exists()
    return clone


@pytest.fixture(scope="session", autouse=True)
def _no_leaks() -> None:
    """pip settings of the machine that runs the tests must not decide them."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        del os.environ[name]
