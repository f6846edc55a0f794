# shellcheck shell=bash
# shellcheck disable=SC2034  # the variables are for the scripts that source this
# control-plane.sh - sourced by control.sh and node.sh: command lines of etcd, the API server, the controller manager and the
# scheduler. Each function stores its command line in COMMAND.
#   APISERVER_EXTRA  additional flags of the API server, separated by spaces (for example, for an audit log)

# Lets Go programs use more memory to save CPU time on garbage collection. The caller's GOGC has precedence.
export GOGC=${GOGC:-400}

SERVICE_CIDR=10.96.0.0/16
CLUSTER_DNS=10.96.0.10

# etcd_command DATA_DIR PORT - without fsync, which halves the write time; the data need not survive a power failure.
etcd_command() {
  COMMAND=("$BIN/etcd" --data-dir "$1" --unsafe-no-fsync --log-level warn --listen-peer-urls http://127.0.0.1:0
    --listen-client-urls "http://127.0.0.1:$2" --advertise-client-urls "http://127.0.0.1:$2")
}

# apiserver_command PKI ETCD_PORT PORT FLAGS...
apiserver_command() {
  local pki=$1 extra=()
  read -ra extra <<< "${APISERVER_EXTRA:-}"
  COMMAND=("$BIN/kube-apiserver" --etcd-servers "http://127.0.0.1:$2" --secure-port "$3"
    --service-cluster-ip-range "$SERVICE_CIDR" --allow-privileged --profiling=false
    --client-ca-file "$pki/ca.crt" --tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key"
    --service-account-issuer https://kubernetes.default.svc.cluster.local
    --service-account-key-file "$pki/sa.pub" --service-account-signing-key-file "$pki/sa.key"
    --requestheader-client-ca-file "$pki/front-ca.crt" --requestheader-allowed-names front-proxy-client
    --requestheader-username-headers X-Remote-User --requestheader-group-headers X-Remote-Group
    --requestheader-extra-headers-prefix X-Remote-Extra-
    --proxy-client-cert-file "$pki/front-proxy.crt" --proxy-client-key-file "$pki/front-proxy.key"
    "${@:4}" "${extra[@]}")
}

# api_ready PKI PORT PID... - waits for the API server; fails early if one of the processes has exited (port in use, invalid flag).
# Starting kubectl for each attempt would take five times the processor time. No API server is ready within the first second.
api_ready() {
  local pki=$1 port=$2 answer pid
  shift 2
  sleep 1
  for _ in $(seq 1800); do
    answer=$(printf 'GET /readyz HTTP/1.0\r\n\r\n' | timeout 10 openssl s_client -quiet -connect "127.0.0.1:$port" \
      -CAfile "$pki/ca.crt" -verify_return_error -cert "$pki/admin.crt" -key "$pki/admin.key" 2>/dev/null) || true
    if [[ $answer == "HTTP/1.0 200 "* ]]; then return; fi
    for pid in "$@"; do alive "$pid" || return 1; done
    sleep 0.1
  done
  return 1
}

# controller_manager_command PKI FLAGS... - with the default rate limits, the default ServiceAccount of a new namespace is
# created four to five seconds late.
controller_manager_command() {
  local pki=$1 config=$1/controller-manager.kubeconfig
  COMMAND=("$BIN/kube-controller-manager" --kubeconfig "$config" --authentication-kubeconfig "$config" --authorization-kubeconfig "$config"
    --leader-elect=false --kube-api-qps 500 --kube-api-burst 1000 --use-service-account-credentials
    --service-account-private-key-file "$pki/sa.key" --root-ca-file "$pki/ca.crt"
    --cluster-signing-cert-file "$pki/ca.crt" --cluster-signing-key-file "$pki/ca.key" "${@:2}")
}

# scheduler_command PKI FLAGS...
scheduler_command() {
  local config=$1/scheduler.kubeconfig
  COMMAND=("$BIN/kube-scheduler" --kubeconfig "$config" --authentication-kubeconfig "$config" --authorization-kubeconfig "$config"
    --leader-elect=false "${@:2}")
}
