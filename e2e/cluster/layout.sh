# shellcheck shell=bash
# layout.sh - sourced by every script here: versions, where things live, and the questions asked about processes.
#   CLUSTER_CACHE  binaries, images and running clusters (default ~/.cache/agent-compliance/k8s); CI may keep bin/ and images/ of it.

CLUSTER_DIR=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=versions.env
. "$CLUSTER_DIR/versions.env"

CLUSTER_CACHE=${CLUSTER_CACHE:-$HOME/.cache/agent-compliance/k8s}
BIN=$CLUSTER_CACHE/bin
IMAGES=$CLUSTER_CACHE/images

# alive PID - a zombie is not alive: on hosts whose pid 1 reaps lazily, `kill -0` would wait for it for seconds.
alive() { [ -d "/proc/$1" ] && ! grep -qs '^State:.Z' "/proc/$1/status"; }

# runs PID WORD - is PID still a process whose command line holds WORD? Guards against a pid file that outlived its process.
runs() { alive "$1" && tr '\0' ' ' < "/proc/$1/cmdline" 2>/dev/null | grep -q -- "$2"; }
