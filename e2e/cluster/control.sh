#!/bin/bash
# control.sh up|down - starts or stops an API server and its etcd on loopback, without namespaces, root or a node: for CRDs, CEL,
# RBAC, admission by URL, watches and TokenReview. About three seconds.
#   DIR                    directory of its keys, logs and data (default: control in the cache); one per control plane
#   PORT, ETCD_PORT        default: free ports, so that several can run at the same time
#   KCM=1                  also starts the controller manager and the scheduler (rollouts, garbage collection, kwok.sh)
#   APISERVER_EXTRA="..."  additional flags of the API server
# `up` prints `export KUBECONFIG=...`. A previous control plane in DIR is stopped and removed first.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/layout.sh"
. "$CLUSTER_DIR/control-plane.sh"
DIR=${DIR:-$CLUSTER_CACHE/control}
PARTS="kube-scheduler kube-controller-manager kube-apiserver etcd"

# free_port FIRST - an unused port below the ephemeral port range, so that no client uses it in the meantime
free_port() {
  local port
  for _ in $(seq 100); do
    port=$(($1 + RANDOM % 4000))
    (: < "/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
  return 1
}

# start NAME - runs COMMAND in its own session, so that a Ctrl-C for the caller does not reach it
start() {
  setsid "${COMMAND[@]}" > "$DIR/$1.log" 2>&1 < /dev/null &
  echo $! > "$DIR/$1.pid"
}

stop() {
  local part pid
  for part in $PARTS; do
    [ -f "$DIR/$part.pid" ] || continue
    pid=$(cat "$DIR/$part.pid")
    if runs "$pid" "$DIR/"; then kill_and_wait "$pid"; fi
    rm -f "$DIR/$part.pid"
  done
  rm -rf "$DIR/etcd" "$DIR/pki"
}

# start_servers PORT
start_servers() {
  local etcd_port=${ETCD_PORT:-$(free_port 20000)} port=$1
  "$CLUSTER_DIR/pki.sh" "$DIR/pki" "https://127.0.0.1:$port"
  etcd_command "$DIR/etcd" "$etcd_port"
  start etcd
  apiserver_command "$DIR/pki" "$etcd_port" "$port" --bind-address 127.0.0.1 --advertise-address 127.0.0.1 \
    --endpoint-reconciler-type none --authorization-mode RBAC
  start kube-apiserver
}

up() {
  local try port
  binaries_there etcd kube-apiserver kubectl
  mkdir -p "$DIR"
  for try in 1 2 3; do
    stop
    port=${PORT:-$(free_port 24000)}
    start_servers "$port"
    if api_ready "$DIR/pki" "$port" "$(cat "$DIR/kube-apiserver.pid")" "$(cat "$DIR/etcd.pid")"; then break; fi
    if [ "$try" = 3 ]; then
      tail -n 5 "$DIR/etcd.log" "$DIR/kube-apiserver.log" >&2
      stop
      return 1
    fi
  done
  if [ "${KCM:-0}" = 1 ]; then
    binaries_there kube-controller-manager kube-scheduler
    controller_manager_command "$DIR/pki" --bind-address 127.0.0.1 --secure-port 0
    start kube-controller-manager
    scheduler_command "$DIR/pki" --bind-address 127.0.0.1 --secure-port 0
    start kube-scheduler
    # Pods are rejected in a namespace without the default ServiceAccount.
    "$BIN/kubectl" --kubeconfig "$DIR/pki/admin.kubeconfig" -n default wait --for=create serviceaccount/default --timeout=120s > /dev/null
  fi
  echo "export KUBECONFIG=$DIR/pki/admin.kubeconfig"
}

case ${1:-} in
  up) up ;;
  down)
    stop
    rm -f "$DIR"/{etcd,kube-apiserver,kube-controller-manager,kube-scheduler}.log
    rmdir "$DIR" 2>/dev/null || true # keeps the caller's files
    ;;
  *) echo "usage: control.sh up|down" >&2; exit 2 ;;
esac
