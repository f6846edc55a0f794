#!/bin/bash
# debian-servers.sh - servers for tests (nginx, Redis, PostgreSQL), a load generator (wrk), shellcheck and shells from Debian packages.
#
# The packages are unpacked into the cache and run from there. Nothing is installed, no service starts, and root is not needed.
# Packages that the machine already has are used. Idempotent: a second run takes a tenth of a second.
# Exit 3: not supported on this machine (no apt); the reason is printed.
set -euo pipefail
CACHE=${AGENT_COMPLIANCE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/agent-compliance}/debian
PACKAGES="nginx-light redis-server postgresql wrk shellcheck zsh fish"
ROOT=$CACHE/root
STAMP=$CACHE/unpacked

if [ "$(cat "$STAMP" 2>/dev/null)" = "$PACKAGES" ]; then exit 0; fi
for tool in apt-get dpkg-deb; do
  command -v "$tool" >/dev/null || { echo "$tool is missing: the tests against nginx, Redis and PostgreSQL need Debian or Ubuntu"; exit 3; }
done

mkdir -p "$CACHE"
# Concurrent runs share the directory: the second run waits and then finds the packages unpacked.
exec 9> "$CACHE/lock"
flock 9
if [ "$(cat "$STAMP" 2>/dev/null)" = "$PACKAGES" ]; then exit 0; fi
rm -rf "$CACHE/lists" "$CACHE/packages" "$ROOT" "$STAMP"
mkdir -p "$CACHE/lists/partial" "$CACHE/archives/partial" "$CACHE/packages" "$ROOT"

# Private package lists, so that neither root nor an earlier `apt-get update` is needed.
apt=(apt-get -qq -o "Dir::State::lists=$CACHE/lists" -o "Dir::Cache=$CACHE" -o Debug::NoLocking=1 -o APT::Sandbox::User= -o Acquire::Retries=3)
echo "fetching the list of Debian's packages"
"${apt[@]}" update
# The packages that an installation would add: the requested ones and their missing dependencies.
mapfile -t wanted < <("${apt[@]}" -s --no-install-recommends install $PACKAGES | awk '$1 == "Inst" { print $2 }')
if [ "${#wanted[@]}" -gt 0 ]; then
  echo "fetching ${wanted[*]}"
  (cd "$CACHE/packages" && "${apt[@]}" download "${wanted[@]}")
  for package in "$CACHE"/packages/*.deb; do dpkg-deb --extract "$package" "$ROOT"; done
fi
rm -rf "$CACHE/lists" "$CACHE/packages" "$CACHE/archives" "$CACHE"/*.bin
echo "$PACKAGES" > "$STAMP"
echo "unpacked into $ROOT"
