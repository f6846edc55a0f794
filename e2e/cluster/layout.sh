# shellcheck shell=bash
# shellcheck disable=SC2034  # the variables are for the scripts that source this
# layout.sh - sourced by every script here: versions, where things live, and the questions asked about processes.
#   CLUSTER_CACHE  binaries, base images and running clusters (default ~/.cache/agent-compliance/k8s)

CLUSTER_DIR=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=versions.env
. "$CLUSTER_DIR/versions.env"

CLUSTER_CACHE=${CLUSTER_CACHE:-$HOME/.cache/agent-compliance/k8s}
BIN=$CLUSTER_CACHE/bin
# Pause, CoreDNS, OPA and the Node base layer are the same for every checkout; the product's images belong to this one.
BASE_IMAGES=$CLUSTER_CACHE/images
APP_IMAGES=$(dirname "$(dirname "$CLUSTER_DIR")")/node_modules/.cache/images

# run_dir NAME - the folder of the cluster NAME; the name also becomes a cgroup's, so it is kept plain.
run_dir() {
  [[ $1 =~ ^[a-z0-9][a-z0-9-]{0,39}$ ]] || { echo "cluster name '$1' is not lower case letters, digits and dashes" >&2; return 2; }
  echo "$CLUSTER_CACHE/run-$1"
}

# alive PID - a zombie is not alive: on hosts whose pid 1 reaps lazily, `kill -0` would wait for it for seconds. But while one
# thread is left, the process still holds its ports and files, even if its first thread is a zombie already.
# shellcheck disable=SC2143  # what the exit code of -L means differs between versions of grep
alive() { [ -n "$(grep -sL '^State:.[ZX]' "/proc/$1"/task/*/status)" ]; }

# runs PID TEXT - is PID still a process with TEXT in its command line? Guards against a pid file that outlived its process.
runs() { alive "$1" && tr '\0' ' ' < "/proc/$1/cmdline" 2>/dev/null | grep -qF -- "$2"; }

# kill_and_wait PID - SIGKILL: what these processes hold is thrown away anyway.
kill_and_wait() {
  kill -KILL "$1" 2>/dev/null || return 0
  for _ in $(seq 400); do alive "$1" || return 0; sleep 0.05; done
  echo "process $1 does not end" >&2
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

# binaries_there NAME... - or say how to get them.
binaries_there() {
  local name
  for name in "$@"; do
    [ -x "$BIN/$name" ] || { echo "$name is not built: run 'make cluster-binaries' (e2e/cluster/build.sh)" >&2; return 1; }
  done
}
