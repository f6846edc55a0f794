#!/bin/bash
# framework-packages.sh node|python|mcp-2|evidence [--installed] - installs the packages that the programs of testing/frameworks
# import; evidence: independent readers of audit events, signatures and bills of materials.
#
# Installs from the lock file into a cache directory named after the hash of the lock file; changes nothing else.
# Prints the directory. Idempotent: a second run takes a tenth of a second.
# With --installed it installs nothing. Exit 3: not installed, or not supported on this machine; the reason is printed.
set -euo pipefail
KIND=${1:?node, python, mcp-2 or evidence}
LOCKS=$(cd "$(dirname "$0")/../testing/frameworks/packages" && pwd)
CACHE=${AGENT_COMPLIANCE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/agent-compliance}/frameworks

cannot() { echo "$1: required by the tests with the packages for $KIND"; exit 3; }

case $KIND in
  node) LOCK=$LOCKS/package-lock.json ;;
  python | mcp-2 | evidence)
    LOCK=$LOCKS/requirements.txt
    [ "$KIND" = python ] || LOCK=$LOCKS/requirements-$KIND.txt
    # Versions for which the locked packages have binaries.
    PYTHON=$(for each in python3.11 python3.12 python3.13 python3; do
      "$each" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo "$each" && break
    done) || cannot "Python 3.11, 3.12 or 3.13 with venv is missing"
    ;;
  *) echo "usage: $0 node|python|mcp-2|evidence"; exit 1 ;;
esac

FOLDER=$CACHE/$KIND-$(sha256sum "$LOCK" | cut -c1-16)
if [ -e "$FOLDER/.complete" ]; then echo "$FOLDER"; exit 0; fi
[ "${2:-}" != --installed ] || { echo "the packages for $KIND are not installed: run scripts/framework-packages.sh $KIND"; exit 3; }

mkdir -p "$CACHE"
# Concurrent runs share the directory: the second run waits and then finds the packages installed.
exec 9> "$CACHE/lock"
flock 9
if [ -e "$FOLDER/.complete" ]; then echo "$FOLDER"; exit 0; fi
rm -rf "$FOLDER"
mkdir -p "$FOLDER"
echo "installing packages for $KIND into $FOLDER"
if [ "$KIND" = node ]; then
  cp "$LOCKS/package.json" "$LOCK" "$FOLDER"
  # No scripts, and nothing that is not in the lock file.
  (cd "$FOLDER" && npm ci --ignore-scripts --no-fund --no-audit --loglevel=error)
else
  "$PYTHON" -m venv "$FOLDER"
  # The lock file lists every package, except CrewAI's packages for vector stores and clusters.
  "$FOLDER/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: -r "$LOCK"
fi
touch "$FOLDER/.complete"
echo "$FOLDER"
