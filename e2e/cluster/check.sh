#!/bin/bash
# check.sh [node|control] - checks whether this machine can run a cluster (node, the default) or at least an API server (control).
# Exit 0: yes, possibly after build.sh. Exit 3: no, with the reason and the alternative with Docker in one line. Changes nothing.
set -uo pipefail
. "$(dirname "$(readlink -f "$0")")/layout.sh"
. "$CLUSTER_DIR/cgroup.sh"
LEVEL=${1:-node}
CONTROL_BINARIES="etcd kube-apiserver kube-controller-manager kube-scheduler kubectl opa"
NODE_BINARIES="$CONTROL_BINARIES helm kubelet kube-proxy containerd containerd-shim-runc-v2 ctr runc coredns cni/ptp"

cannot() {
  echo "SKIPPED, NO CLUSTER HERE: $1. On a machine with Docker: e2e/cluster/kind.sh up, then E2E_KUBECONFIG=<its kubeconfig> make e2e" >&2
  exit 3
}

all_built() {
  local name
  for name in $1; do [ -x "$BIN/$name" ] || return 1; done
}

# at_least VERSION MINIMUM
at_least() { [ "$(printf '%s\n' "$1" "$2" | sort -V | head -1)" = "$2" ]; }

# Go is needed only to build. An older Go that may download a newer toolchain is sufficient.
can_build() {
  all_built "$1" && return
  command -v go >/dev/null || cannot "Go is missing (the binaries are built from Go modules; $GO_MINIMUM or newer)"
  local version
  version=$(go env GOVERSION)
  at_least "${version#go}" "$GO_MINIMUM" || [ "$(go env GOTOOLCHAIN)" != local ] || cannot "Go $GO_MINIMUM or newer is required, found ${version#go}"
}

# has COMMAND... - each is installed or can be installed with apt
has() {
  local missing="" name
  for name in "$@"; do command -v "$name" >/dev/null 2>&1 || missing+=" $name"; done
  [ -z "$missing" ] || { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; } || cannot "missing:$missing (and no apt-get, or no root, to install it)"
}

has_controllers() {
  local name
  for name in cpu cpuset memory pids; do
    if is_unified; then
      grep -qw "$name" /sys/fs/cgroup/cgroup.controllers || cannot "the cgroup controller $name is not available"
    else
      awk '$3 == "cgroup" { print $4 }' /proc/mounts | grep -qE "(^|,)$name(,|\$)" || cannot "the cgroup controller $name is not mounted"
    fi
  done
}

[ "$(uname -s)" = Linux ] || cannot "this is $(uname -s), not Linux"
case $(uname -m) in x86_64 | aarch64) ;; *) cannot "the architecture $(uname -m) is not supported" ;; esac
case $LEVEL in
  control)
    can_build "$CONTROL_BINARIES"
    has openssl setsid
    ;;
  node)
    [ "$(id -u)" = 0 ] || cannot "root is required for namespaces, mounts and cgroups"
    can_build "$NODE_BINARIES"
    if ! all_built runc || [ ! -f "$BASE_IMAGES/cluster.tar" ]; then has gcc; fi
    has openssl setsid pgrep unshare nsenter flock ip nft
    unshare --mount --pid --net --uts --ipc --fork true 2>/dev/null || cannot "root cannot create namespaces (unshare failed)"
    has_controllers
    ;;
  *) echo "usage: check.sh [node|control]" >&2; exit 2 ;;
esac
