#!/bin/bash
# What vm/lima.yaml has Lima run as root at each start of the guest: brings the clone from the read-only mount to
# the guest's own disk, once, and has provision.sh set it up for the guest's user.
set -euo pipefail

own=/opt/probetax # here the guest's copy lies: data written there stays when the guest is stopped
user='{{.User}}'  # Lima puts its user's name here
patience_s=120    # some kinds of mount come only after the guest has started

rm -f /run/probetax-ready

# the folder of a clone among what the host has mounted; nothing while there is none
mounted_clone() {
  local place
  while IFS= read -r place; do
    place=$(printf '%b' "$place") # findmnt writes blanks as \x20
    if [ -x "$place/vm/provision.sh" ] && [ -x "$place/study" ]; then
      printf '%s\n' "$place"
      return
    fi
  done < <(findmnt --raw --noheadings --output TARGET --types 9p,virtiofs,fuse.sshfs)
}

# What set-up makes on the host is the host's; .git goes along, since the tests ask it what is shipped.
# A copy that was cut off has another name and is begun anew
bring() {
  local clone deadline=$((SECONDS + patience_s))
  until clone=$(mounted_clone) && [ -n "$clone" ]; do
    if [ "$SECONDS" -ge "$deadline" ]; then
      echo "probetax: no clone is mounted: start with --mount-only . from the clone, as vm/lima.yaml says" >&2
      return 1
    fi
    sleep 2
  done
  rm -rf "$own.part"
  mkdir -p "$own.part"
  tar -C "$clone" --exclude=./.venv --exclude=./.setup --exclude=./bpf/build -cf - . | tar -C "$own.part" --no-same-owner -xf -
  chown -R "$user:" "$own.part"
  mv "$own.part" "$own"
}

[ -e "$own" ] || bring
sudo -u "$user" -H "$own/vm/provision.sh"
: >/run/probetax-ready
