#!/bin/bash
# up.sh - starts a single-node Kubernetes inside one temporary set of namespaces (mount, pid, net, uts, ipc). Nothing outside
# changes: no address, route, firewall rule, mount or daemon. When its first process ends, the whole cluster ends.
#   NAME=e2e               name; several clusters can run at the same time
#   APISERVER_EXTRA="..."  additional flags of the API server
#   IMPORT="a.tar b.tar"   OCI archives to import (default: the base images and the images of e2e/images/build.sh)
# Afterwards RUN/in COMMAND... runs a command inside: same files, the cluster's network, KUBECONFIG set. RUN is
# ~/.cache/agent-compliance/k8s/run-NAME; logs are in RUN/log, also if the cluster fails to start.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/layout.sh"
. "$CLUSTER_DIR/cgroup.sh"
export NAME=${NAME:-e2e} APISERVER_EXTRA=${APISERVER_EXTRA:-}
RUN=$(run_dir "$NAME")
started=$(date +%s%N)

binaries_there etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl containerd \
  containerd-shim-runc-v2 ctr runc cni/ptp coredns
export IMPORT=${IMPORT:-$(find "$BASE_IMAGES" "$APP_IMAGES" -maxdepth 1 -name '*.tar' 2>/dev/null | tr '\n' ' ')}
[ -f "$BASE_IMAGES/cluster.tar" ] || { echo "no images: run e2e/images/build.sh" >&2; exit 1; }

"$CLUSTER_DIR/down.sh"
trap '"$CLUSTER_DIR/down.sh"; exit 130' INT TERM
mkdir -p "$RUN/log"
make_cgroup "$NAME"

setsid env --default-signal=INT,QUIT unshare --mount --pid --net --uts --ipc --fork --kill-child=KILL --mount-proc \
  "$CLUSTER_DIR/node.sh" "$NAME" > "$RUN/log/node.log" 2>&1 < /dev/null &
holder=$!
echo "$holder" > "$RUN/holder.pid"

cat > "$RUN/in" <<X
#!/bin/bash
# Runs a command inside the cluster '$NAME', in the caller's working directory. KUBECACHEDIR is per cluster, because kubectl and
# helm cache data by the address of the API server, which all clusters share.
export KUBECONFIG="$RUN/kubeconfig" KUBECACHEDIR="$RUN/kube-cache" GOGC=off GOMEMLIMIT=1GiB PATH="$BIN:\$PATH" CONTAINERD_ADDRESS="$RUN/containerd.sock" CONTAINERD_NAMESPACE=k8s.io
exec nsenter -t "\$(cat "$RUN/init.pid")" -m -p -n -u -i --wd="\$PWD" -- "\$@"
X
chmod +x "$RUN/in"

for _ in $(seq 3000); do
  if [ ! -s "$RUN/init.pid" ]; then pgrep -P "$holder" -f node.sh > "$RUN/init.pid" || true; fi
  if [ -s "$RUN/init.pid" ] && [ -f "$RUN/ready" ]; then
    echo "cluster '$NAME' is up in $((($(date +%s%N) - started) / 1000000)) ms: $RUN/in kubectl get nodes"
    exit 0
  fi
  alive "$holder" || break
  sleep 0.1
done
echo "cluster '$NAME' failed to start; the end of each log in $RUN/log:" >&2
tail -n 5 "$RUN"/log/*.log >&2
exit 1
