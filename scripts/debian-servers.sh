#!/bin/bash
# debian-servers.sh - servers for tests (nginx, Redis, PostgreSQL), a load generator (wrk), shellcheck, shells, a browser
# (Chromium with fonts), Prometheus with Alertmanager, and rsyslog from Debian packages.
#
#   debian-servers.sh            everything
#   debian-servers.sh servers    everything except the browser, Prometheus, Alertmanager and rsyslog
#   debian-servers.sh browser    only the browser and its fonts
#   debian-servers.sh alerting   only Prometheus and Alertmanager with their tools, which test the alerts
#   debian-servers.sh logging    only rsyslog, which tests its configuration of the guide
#
# The packages are unpacked into the cache and run from there. Nothing is installed, no service starts, and root is not needed.
# Packages that the machine already has are used. Idempotent: a second run takes a tenth of a second.
# Exit 3: not supported on this machine (no apt, or no browser in its packages); the reason is printed.
set -euo pipefail
CACHE=${AGENT_COMPLIANCE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/agent-compliance}/debian
SERVERS="nginx-light redis-server postgresql wrk shellcheck zsh fish"
BROWSER="fontconfig-config fonts-dejavu-core fonts-liberation"
# Google Chrome is the same browser, and Ubuntu has Chromium only as a snap.
if ! [ -x /usr/bin/google-chrome ]; then BROWSER="$BROWSER chromium"; fi
ALERTING="prometheus prometheus-alertmanager"
LOGGING="rsyslog"

# unpack NAME PACKAGES - unpacks the packages that the machine lacks into $CACHE/NAME, and remembers them in $CACHE/STAMP
unpack() {
  local root=$CACHE/$1 stamp=$CACHE/$2 packages=$3 tool package
  if [ "$(cat "$stamp" 2>/dev/null)" = "$packages" ]; then return; fi
  for tool in apt-get dpkg-deb; do
    command -v "$tool" >/dev/null || { echo "$tool is missing: the tests against nginx, Redis, PostgreSQL and Chromium need Debian or Ubuntu"; exit 3; }
  done
  mkdir -p "$CACHE"
  # Concurrent runs share the directory: the second run waits and then finds the packages unpacked.
  exec 9> "$CACHE/lock"
  flock 9
  if [ "$(cat "$stamp" 2>/dev/null)" = "$packages" ]; then return; fi
  rm -rf "$CACHE/lists" "$CACHE/packages" "$root" "$stamp"
  mkdir -p "$CACHE/lists/partial" "$CACHE/archives/partial" "$CACHE/packages" "$root"

  # Private package lists, so that neither root nor an earlier `apt-get update` is needed.
  local apt=(apt-get -qq -o "Dir::State::lists=$CACHE/lists" -o "Dir::Cache=$CACHE" -o Debug::NoLocking=1 -o APT::Sandbox::User= -o Acquire::Retries=3)
  echo "fetching the list of Debian's packages"
  "${apt[@]}" update
  # The packages that an installation would add: the requested ones and their missing dependencies.
  # In a variable first, so that a failure of apt-get ends the script: mapfile would take it for "nothing is missing".
  local plan names wanted=()
  read -ra names <<< "$packages"
  plan=$("${apt[@]}" -s --no-install-recommends install "${names[@]}")
  mapfile -t wanted < <(awk '$1 == "Inst" { print $2 }' <<< "$plan")
  if printf '%s\n' "${wanted[@]}" | grep -qxE 'snapd|chromium-browser'; then
    echo "the packages of this system have Chromium only as a snap, which cannot be unpacked: install Google Chrome"
    exit 3
  fi
  if [ "${#wanted[@]}" -gt 0 ]; then
    echo "fetching ${wanted[*]}"
    (cd "$CACHE/packages" && "${apt[@]}" download "${wanted[@]}")
    for package in "$CACHE"/packages/*.deb; do dpkg-deb --extract "$package" "$root"; done
  fi
  rm -rf "$CACHE/lists" "$CACHE/packages" "$CACHE/archives" "$CACHE"/*.bin
  echo "$packages" > "$stamp"
  flock -u 9
  echo "unpacked into $root"
}

case ${1:-all} in
  servers) unpack root unpacked "$SERVERS" ;;
  browser) unpack browser browser-unpacked "$BROWSER" ;;
  alerting) unpack alerting alerting-unpacked "$ALERTING" ;;
  logging) unpack logging logging-unpacked "$LOGGING" ;;
  all)
    unpack root unpacked "$SERVERS"
    unpack browser browser-unpacked "$BROWSER"
    unpack alerting alerting-unpacked "$ALERTING"
    unpack logging logging-unpacked "$LOGGING"
    ;;
  *)
    echo "usage: debian-servers.sh [servers | browser | alerting | logging]" >&2
    exit 2
    ;;
esac
