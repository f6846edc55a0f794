#!/bin/bash
# kwok.sh KUBECONFIG DIR - fake nodes and pods for a control plane started with `KCM=1 control.sh up`: thousands of pods without
# a kubelet. Prints the process id; stop it with kill. Only nodes with the annotation kwok.x-k8s.io/node=fake are fake. kwok does
# not load its stages by default, so they are passed from the copy made by build.sh.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/layout.sh"
binaries_there kwok
[ $# = 2 ] || { echo "usage: kwok.sh KUBECONFIG DIR" >&2; exit 2; }
mkdir -p "$2"
setsid "$BIN/kwok" --kubeconfig "$1" --config "$BIN/kwok-stages.yaml" --manage-nodes-with-annotation-selector kwok.x-k8s.io/node=fake \
  --cidr 10.200.0.0/16 --node-ip 10.200.255.1 --node-lease-duration-seconds 40 > "$2/kwok.log" 2>&1 < /dev/null &
echo $!
