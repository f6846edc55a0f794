# shellcheck shell=bash
# shellcheck disable=SC2034  # the variables are for the scripts that source this
# layout.sh - sourced by every script here: versions, paths and helper functions for processes.
#   CLUSTER_CACHE  binaries, base images and running clusters (default ~/.cache/agent-compliance/k8s)

CLUSTER_DIR=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=versions.env
. "$CLUSTER_DIR/versions.env"

CLUSTER_CACHE=${CLUSTER_CACHE:-$HOME/.cache/agent-compliance/k8s}
BIN=$CLUSTER_CACHE/bin
# Pause, CoreDNS, OPA and the Node base layer are shared by all checkouts; the product's images belong to this checkout.
BASE_IMAGES=$CLUSTER_CACHE/images
APP_IMAGES=$(dirname "$(dirname "$CLUSTER_DIR")")/node_modules/.cache/images

# run_dir NAME - the directory of the cluster NAME; the name is also used for a cgroup, so it is restricted.
run_dir() {
  [[ $1 =~ ^[a-z0-9][a-z0-9-]{0,39}$ ]] || { echo "cluster name '$1' must consist of lower-case letters, digits and dashes" >&2; return 2; }
  echo "$CLUSTER_CACHE/run-$1"
}

# alive PID - zombies are not alive: with a slow pid 1, `kill -0` succeeds for seconds after the end. But as long as one thread
# runs, the process holds its ports and files, even if its first thread is a zombie.
# shellcheck disable=SC2143  # what the exit code of -L means differs between versions of grep
alive() { [ -n "$(grep -sL '^State:.[ZX]' "/proc/$1"/task/*/status)" ]; }

# runs PID TEXT - succeeds if PID is a process with TEXT in its command line. Guards against a stale pid file.
runs() { alive "$1" && tr '\0' ' ' < "/proc/$1/cmdline" 2>/dev/null | grep -qF -- "$2"; }

# kill_and_wait PID - uses SIGKILL, because the data of these processes is discarded anyway.
kill_and_wait() {
  kill -KILL "$1" 2>/dev/null || return 0
  for _ in $(seq 400); do alive "$1" || return 0; sleep 0.05; done
  echo "process $1 did not exit" >&2
  return 1
}

# until_ok SECONDS COMMAND... - repeats COMMAND until it succeeds.
until_ok() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || { echo "gave up waiting for: $*" >&2; return 1; }
    sleep 0.1
  done
}

# binaries_there NAME... - fails with instructions if a binary is not built.
binaries_there() {
  local name
  for name in "$@"; do
    [ -x "$BIN/$name" ] || { echo "$name is not built: run 'make cluster-binaries' (e2e/cluster/build.sh)" >&2; return 1; }
  done
}
