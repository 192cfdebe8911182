#!/usr/bin/env bash
# Makes a Debian 12 or Ubuntu 24.04 machine ready for this clone: Debian packages, .venv, the collectors.
# Called by ./study, by the Vagrantfile and by whoever builds an image. Run it again at any point: it does
# only what is missing, and what it added to the system is written down so that --remove takes back just that.
#
#   vm/provision.sh [--python-only] [--exact] [--tests] [--quiet] | --dry-run [--exact] [--tests] | --remove [--dry-run]
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
state=$root/.setup       # what we added to the machine, and the log; both git-ignored
venv=$root/.venv
log=$state/setup.log
lock=$root/requirements.lock
PYTHON_MB=770            # measured: .venv with every locked package, byte-compiled
PACKAGES_MB=730          # measured: every Debian package with its dependencies, on a bare Debian 12

# shellcheck source=vm/packages.sh
. "$root/vm/packages.sh"

python_only=no tests=no exact=no quiet=no dry=no remove=no
for option in "$@"; do
  case $option in
    --python-only) python_only=yes ;;
    --exact) exact=yes ;;
    --tests) tests=yes ;;
    --quiet) quiet=yes ;;
    --dry-run) dry=yes ;;
    --remove) remove=yes ;;
    *) echo "provision.sh: unknown option $option (see the top of the file)" >&2; exit 2 ;;
  esac
done

say() { printf 'probetax: %s\n' "$*"; }
die() { printf 'probetax: %s\n' "$*" >&2; exit 1; }

# step TEXT COMMAND…: its output goes to the log and is shown only if it fails
step() {
  local text=$1 began=$SECONDS ticker='' status=0 first
  shift
  first=$(($(wc -l <"$log") + 1))
  if [ -t 1 ]; then
    (while sleep 1 && kill -0 "$$" 2>/dev/null; do printf '\rprobetax: %s … %d s ' "$text" "$((SECONDS - began))"; done) &
    ticker=$!
  else
    say "$text …"
  fi
  "$@" >>"$log" 2>&1 </dev/null 9>&- || status=$?
  if [ -n "$ticker" ]; then
    kill "$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
    printf '\r'
  fi
  if [ "$status" -ne 0 ]; then
    tail -n "+$first" "$log" | tail -n 15 | sed 's/^/  | /' >&2
    printf 'probetax: failed: %s (the whole log: %s)\n' "$text" "$log" >&2
    return "$status"
  fi
  say "$text: done in $((SECONDS - began)) s"
}

# The system's Python measures. Figures need no Debian: the first on PATH that is new enough will do
python_for_venv() {
  local name names=(/usr/bin/python3)
  [ "$python_only" = no ] || names+=(python3.13 python3.12 python3.11 python3)
  for name in "${names[@]}"; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$name"
      return
    fi
  done
  die "none of ${names[*]} is Python 3.11 or newer: install it (Debian: apt-get install python3-venv), or use" \
    "Debian 12, Ubuntu 24.04 or the Vagrantfile"
}

# What the environment was made from: the lock, the interpreter, and the place (scripts hold absolute paths)
venv_key() {
  "$1" -I -S -c 'import hashlib, sys
print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest()[:16], sys.version.split()[0], sys.argv[2])' \
    "$lock" "$root"
}

venv_ready() { [ -x "$venv/bin/python" ] && [ "$(cat "$venv/probetax.stamp" 2>/dev/null)" = "$1" ]; }

install_locked() {
  # a mirror, a proxy or a certificate set by the user stays in force; what would move the files elsewhere does not
  env -u PIP_TARGET -u PIP_PREFIX -u PIP_ROOT -u PIP_REQUIRE_VIRTUALENV -u PIP_NO_DEPS -u PIP_PYTHON \
    -u PIP_CONSTRAINT -u PIP_REQUIREMENT -u PIP_DRY_RUN -u PIP_NO_BINARY -u PIP_UPGRADE -u PIP_NO_CACHE_DIR \
    -u PYTHONPATH -u PYTHONHOME \
    PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_CACHE_DIR="$state/pip" PIP_ROOT_USER_ACTION=ignore \
    "$venv/bin/python" -m pip install --no-compile --require-hashes -r "$lock" || return
  # pip would do this on one CPU; what is not Python 3 after all stays as it is
  "$venv/bin/python" -I -c 'import compileall, sysconfig
compileall.compile_dir(sysconfig.get_path("purelib"), quiet=2, workers=0)'
}

make_venv() { env -u PYTHONPATH -u PYTHONHOME "$1" -m venv --clear "$venv"; }

# Has it a pip, the interpreter that it should have, and was it made in this place?
venv_works() {
  [ -x "$venv/bin/python" ] && [[ $(grep '^command' "$venv/pyvenv.cfg") == *" $venv" ]] &&
    "$venv/bin/python" -I -c 'import sys, pip; sys.exit(sys.version.split()[0] != sys.argv[1])' "$1" 2>>"$log"
}

set_up_python() {
  local python key
  python=$(python_for_venv)
  key=$(venv_key "$python")
  venv_ready "$key" && return 0
  [ ! -L "$venv" ] || rm -f "$venv" # a link to somebody else's: theirs is not ours to clear
  rm -f "$venv/probetax.stamp"
  # an interrupted attempt is gone on with, and started over only if that does not make it whole
  venv_works "$("$python" -I -S -c 'import sys; print(sys.version.split()[0])')" ||
    step "creating .venv" make_venv "$python" ||
    die "no virtual environment: install python3-venv, and check that $root is writable and not full"
  step "installing the locked Python packages ($PYTHON_MB MB)" install_locked ||
    die "pip could not install requirements.lock: check network or mirror, then run this again; it goes on where it stopped"
  if ! "$venv/bin/python" -I "$root/vm/check_venv.py" >>"$log" 2>&1; then
    step "starting .venv over: the earlier attempt left it damaged" make_venv "$python" ||
      die "cannot clear $venv: remove it and run this again"
    step "installing the locked Python packages ($PYTHON_MB MB)" install_locked ||
      die "pip could not install requirements.lock: check network or mirror, then run this again"
    "$venv/bin/python" -I "$root/vm/check_venv.py" >>"$log" 2>&1 || die "$(tail -n 1 "$log")"
  fi
  # lets a notebook in any folder import cli, experiment and analysis
  "$venv/bin/python" -I -c 'import pathlib, sys, sysconfig
pathlib.Path(sysconfig.get_path("purelib"), "probetax.pth").write_text(sys.argv[1] + "\n")' "$root"
  rm -rf "$state/pip"
  printf '%s\n' "$key" >"$venv/probetax.stamp"
}

set_up_collectors() {
  make -C "$root/bpf" -q >/dev/null 2>&1 && return 0
  step "building the collectors" make -C "$root/bpf" ||
    die "the collectors do not build: the lines above say why; clang --version and uname -m belong in a report"
}

give_back() { # under sudo: what we made in somebody's clone is theirs
  if [ "$(id -u)" = 0 ] && [ -n "${SUDO_UID:-}" ] && [ "$(stat -c %u "$root")" = "$SUDO_UID" ]; then
    for made in "$venv" "$state" "$root/bpf/build"; do
      [ ! -e "$made" ] || chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$made"
    done
  fi
}

dry_run() {
  local missing added key='' python_disk=$PYTHON_MB packages_disk=0 minutes=0
  missing=$(packages_missing "$tests" "$exact" | tr '\n' ' ')
  if [ -n "$missing" ]; then
    # shellcheck disable=SC2086 # a list of package names
    added=$(packages_simulated $missing)
    packages_disk=$(packages_megabytes "${added:-$missing}")
    [ -n "$added" ] || packages_disk=$PACKAGES_MB # apt has no lists yet: as measured on a bare Debian 12
    minutes=2
    say "Debian packages to install: $missing"
    say "as root: apt-get update"
    say "as root: apt-get install --yes --no-install-recommends $missing"
  else
    say "Debian packages to install: none"
  fi
  [ ! -x /usr/bin/python3 ] || key=$(venv_key /usr/bin/python3)
  if venv_ready "$key"; then
    python_disk=0
    say "Python packages to install: none"
  else
    minutes=$((minutes + 2))
    say "Python packages to install: $(grep -c '^[A-Za-z0-9]' "$lock") from requirements.lock, into $venv"
  fi
  if ! make -C "$root/bpf" -q >/dev/null 2>&1; then
    minutes=$((minutes + 1))
    say "to build: make -C bpf"
  fi
  say "disk: about $((python_disk + packages_disk)) MB; set-up: about $minutes minutes"
}

remove_all() {
  local ours
  ours=$(packages_ours | tr '\n' ' ')
  if [ "$dry" = yes ]; then
    say "would remove: $venv, $state, $root/bpf/build and caches"
    say "as root: apt-get purge ${ours:-(nothing: no package was installed from here)}"
    return
  fi
  [ -z "$ours" ] || packages_remove
  rm -rf "$venv" "$root/bpf/build" "$root/.mypy_cache" "$root/.ruff_cache" "$root/.pytest_cache" "$root/.hypothesis"
  find "$root" -name __pycache__ -type d -prune -exec rm -rf {} +
  rm -rf "$state"
  say "removed what set-up made; data/ is as it was"
}

if [ "$remove" = yes ]; then remove_all; exit; fi
if [ "$dry" = yes ]; then dry_run; exit; fi

if ! mkdir -p "$state" 2>/dev/null || ! : 2>/dev/null >>"$log"; then
  die "cannot write to $root: clone into a folder of your own, or run as its owner"
fi
trap give_back EXIT
if command -v flock >/dev/null; then # one set-up at a time; a second one waits and finds everything there
  exec 9>>"$state/lock"
  flock 9
fi
if [ "$python_only" = no ]; then
  [ "$(uname -s)" = Linux ] || die "measuring needs Linux: see the Vagrantfile; ./study figures works here"
  packages_install "$tests" "$exact"
fi
set_up_python
[ "$python_only" = yes ] || set_up_collectors
if [ "$quiet" = no ]; then
  cd "$root" && "$venv/bin/python" -P -m cli doctor
fi
