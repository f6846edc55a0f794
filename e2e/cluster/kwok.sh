#!/bin/bash
# kwok.sh KUBECONFIG DIR - fake nodes and pods for a control plane made with `KCM=1 control.sh up`: thousands of pods without
# a kubelet. Prints the process id; end it with kill. A node is faked when it carries the annotation
# kwok.x-k8s.io/node=fake, so real nodes stay real. Started by hand kwok knows no stages: build.sh keeps those of its module.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/layout.sh"
binaries_there kwok
[ $# = 2 ] || { echo "usage: kwok.sh KUBECONFIG DIR" >&2; exit 2; }
mkdir -p "$2"
setsid "$BIN/kwok" --kubeconfig "$1" --config "$BIN/kwok-stages.yaml" --manage-nodes-with-annotation-selector kwok.x-k8s.io/node=fake \
  --cidr 10.200.0.0/16 --node-ip 10.200.255.1 --node-lease-duration-seconds 40 > "$2/kwok.log" 2>&1 < /dev/null &
echo $!
