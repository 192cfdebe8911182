# shellcheck shell=bash
# The Debian packages: which are missing, installing them, taking back just those. Sourced by provision.sh, which
# defines say, die, step and the folder that remembers what we installed:
: "${state:?this file is part of provision.sh}"

NEEDED=(clang llvm make gcc libc6-dev libbpf-dev libelf-dev zlib1g-dev libyaml-dev python3-venv procps)
WISHED=(python3-bpfcc sysstat) # one collector's need each: without them that one is unavailable, the others go on
FOR_TESTS=(clang-format shellcheck stress-ng git chromium vagrant bpftool)
EXACT=(qemu-system-x86 qemu-system-arm mmdebstrap debian-archive-keyring) # the exact backend's; tests need them too

debian_like() { command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; }

# packages_absent NAME…: those that dpkg does not call installed
packages_absent() {
  local installed name
  installed=" $(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
    awk '$1 == "installed" { print $2 }' | tr '\n' ' ' || true)"
  for name in "$@"; do
    case $installed in *" $name "*) ;; *) printf '%s\n' "$name" ;; esac
  done
}

# no grep -q: it would leave before apt-cache is done, and pipefail count that as a failure
known_to_apt() { apt-cache policy "$1" 2>/dev/null | grep 'Candidate: [^(]' >/dev/null; }

# The headers BCC compiles against: the kernel's own, else the distribution's current ones. Whoever sets up a system
# that another kernel will boot names that one in PROBETAX_KERNEL
headers_package() {
  local kernel=${PROBETAX_KERNEL:-$(uname -r)} own generic
  own=linux-headers-$kernel
  [ ! -e "/lib/modules/$kernel/build" ] || return 0
  if grep -q '^ID=ubuntu' /etc/os-release 2>/dev/null; then
    generic=linux-headers-generic
  else
    generic=linux-headers-$(dpkg --print-architecture)
  fi
  [ "$(packages_absent "$own" "$generic" | wc -l)" = 2 ] || return 0 # one of them is there
  if known_to_apt "$own"; then echo "$own"; else echo "$generic"; fi
}

packages_missing() { # packages_missing TESTS(yes|no) EXACT(yes|no)
  debian_like || return 0
  packages_absent "${NEEDED[@]}" "${WISHED[@]}"
  headers_package
  [ "$1$2" = nono ] || packages_absent "${EXACT[@]}"
  [ "$1" = no ] || packages_absent "${FOR_TESTS[@]}"
}

# What would be new, dependencies included; nothing while apt has no lists yet
packages_simulated() {
  apt-get -s install --no-install-recommends "$@" 2>/dev/null | awk '$1 == "Inst" { print $2 }' || true
}

packages_megabytes() {
  # shellcheck disable=SC2086 # a list of package names
  apt-cache show --no-all-versions $1 2>/dev/null |
    awk '/^Installed-Size:/ { kb += $2 } END { print int(kb / 1024) }' || true
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Asks for the password where a person can answer; the commands themselves never wait for one
may_be_root() {
  [ "$(id -u)" != 0 ] || return 0
  command -v sudo >/dev/null || return 1
  sudo -n true 2>/dev/null && return 0
  [ -t 0 ] && [ -t 2 ] && sudo -v
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -o DPkg::Lock::Timeout=120 "$@"
}

is_needed() { case " ${NEEDED[*]} " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }

not_debian() {
  if command -v clang >/dev/null && command -v make >/dev/null && [ -e /usr/include/bpf/bpf.h ] &&
    [ -e /usr/include/libelf.h ] && [ -e /usr/include/zlib.h ] && [ -e /usr/include/yaml.h ]; then
    return 0 # everything is there by another way
  fi
  die "no apt-get here: install clang, llvm, make, gcc, Python 3.11 with venv and the headers of libbpf, libelf," \
    "zlib and libyaml by your own package manager, or use the Vagrantfile"
}

# What a simulation says will be new is written down before anything is installed: an interrupted
# installation is thus known in full too. packages_ours says which of it is really there.
packages_install() { # packages_install TESTS(yes|no) EXACT(yes|no)
  local missing needed='' name installable=()
  debian_like || { not_debian; return; }
  missing=$(packages_missing "$1" "$2")
  [ -n "$missing" ] || return 0
  for name in $missing; do ! is_needed "$name" || needed="$needed $name"; done
  if ! may_be_root; then
    [ -z "$needed" ] || die "missing:$needed; no root here: ask an administrator for" \
      "apt-get install$needed"
    say "without root these stay missing, and what needs them is unavailable:" "$(echo "$missing" | tr '\n' ' ')"
    return 0
  fi
  step "refreshing the package lists" apt_get update || say "went on with the package lists already here"
  missing=$(packages_missing "$1" "$2")
  for name in $missing; do
    if known_to_apt "$name"; then
      installable+=("$name")
    elif is_needed "$name"; then
      die "apt knows no package $name: is this Debian 12, Ubuntu 24.04 or newer, with its main archive (Ubuntu:" \
        "universe too) enabled?"
    else
      say "apt knows no package $name: what needs it will be unavailable"
    fi
  done
  [ "${#installable[@]}" -gt 0 ] || return 0
  packages_simulated "${installable[@]}" >>"$state/packages.added"
  step "installing ${#installable[@]} Debian packages: ${installable[*]}" \
    apt_get install --yes --no-install-recommends "${installable[@]}" ||
    die "apt-get could not install them: mend what the lines above name (often: sudo dpkg --configure -a), run this again"
}

packages_ours() {
  [ -s "$state/packages.added" ] || return 0
  local added name absent
  added=$(sort -u "$state/packages.added")
  # shellcheck disable=SC2086 # a list of package names
  absent=" $(packages_absent $added | tr '\n' ' ')"
  for name in $added; do
    case $absent in *" $name "*) ;; *) printf '%s\n' "$name" ;; esac
  done
}

# would_also_go NAME…: what removing these would take along that was not ours to remove
would_also_go() {
  apt-get -s remove "$@" 2>/dev/null | awk '$1 == "Remv" { print $2 }' | sort -u |
    comm -23 - <(packages_ours | sort -u)
}

packages_remove() {
  local name going=()
  may_be_root || die "removing the Debian packages needs root; nothing was removed"
  mapfile -t going < <(packages_ours)
  if [ -n "$(would_also_go "${going[@]}")" ]; then
    going=()
    for name in $(packages_ours); do
      if [ -z "$(would_also_go "$name")" ]; then going+=("$name"); else say "kept $name: something else needs it now"; fi
    done
  fi
  [ "${#going[@]}" -gt 0 ] || return 0
  step "removing ${#going[@]} Debian packages that set-up had installed" apt_get purge --yes "${going[@]}" ||
    die "apt-get could not remove them: mend what the lines above name, then run this again"
}
