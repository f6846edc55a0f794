#!/bin/bash
# node.sh NAME - the first process in a cluster's namespaces; started only by up.sh. Sets up the network, starts the control plane
# and the node, and then reaps processes. Environment: IMPORT, APISERVER_EXTRA.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/layout.sh"
. "$CLUSTER_DIR/control-plane.sh"
. "$CLUSTER_DIR/cgroup.sh"
NAME=$1
RUN=$(run_dir "$NAME")
PKI=$RUN/pki
NODE=node1 NODE_IP=10.88.0.10 POD_CIDR=10.244.0.0/24
export PATH=$BIN:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin KUBECONFIG=$RUN/kubeconfig
started=$(date +%s%N)

lap() { echo "$((($(date +%s%N) - started) / 1000000)) ms  $*"; }

# The shell starts background processes with SIGINT and SIGQUIT ignored, and the pods would inherit this.
start() { env --default-signal=INT,QUIT "${COMMAND[@]}" > "$RUN/log/$1.log" 2>&1 < /dev/null & }

# Private to the cluster, but shared inside it: containerd and the kubelet pass mounts to each other.
mounts() {
  mount --make-rprivate /
  mount --make-rshared /
  mount -t tmpfs tmpfs /run
  mount -t tmpfs tmpfs /var/log
  mkdir -p /run/netns /run/lock /var/log/pods /var/log/containers
  mount --bind "$RUN" "$RUN"
  mount --make-rshared "$RUN"
}

# The kubelet writes host-wide sysctls such as panic_on_oops. Plain files are mounted over them to protect the host.
sysctls() {
  local pair file
  mkdir -p /run/sysctl
  for pair in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
    kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
    [ -f "/proc/sys/${pair%=*}" ] || continue
    file=/run/sysctl/${pair//[\/=]/_}
    echo "${pair#*=}" > "$file"
    mount --bind "$file" "/proc/sys/${pair%=*}"
  done
  # Linux lets a user namespace mount /proc only if a complete one is visible: pods with hostUsers: false.
  mkdir -p /run/proc
  mount -t proc proc /run/proc
}

# Loopback and a veth pair with both ends inside: an address with a carrier, and a default route without a destination.
# Without a route, processes on the node cannot reach a ClusterIP.
network() {
  ip link set lo up
  ip link add node0 type veth peer name node0p
  ip link set node0p up
  ip link set node0 up
  ip addr add "$NODE_IP/24" dev node0
  ip route add default via 10.88.0.1 dev node0
  echo 1 > /proc/sys/net/ipv4/ip_forward
}

control_plane() {
  "$CLUSTER_DIR/pki.sh" "$PKI" https://127.0.0.1:6443 "$NODE" "$NODE_IP"
  cp "$PKI/admin.kubeconfig" "$KUBECONFIG"
  etcd_command "$RUN/etcd" 2379
  start etcd
  apiserver_command "$PKI" 2379 6443 --advertise-address "$NODE_IP" --authorization-mode Node,RBAC \
    --enable-admission-plugins NodeRestriction --kubelet-preferred-address-types InternalIP \
    --kubelet-certificate-authority "$PKI/ca.crt" \
    --kubelet-client-certificate "$PKI/apiserver-kubelet.crt" --kubelet-client-key "$PKI/apiserver-kubelet.key"
  start kube-apiserver
  apiserver=$!
}

# overlayfs, except if the cache itself is on an overlay (in a container): then files are copied.
snapshotter() {
  local probe=$RUN/overlay-probe
  mkdir -p "$probe"/{lower,upper,work,merged}
  if mount -t overlay overlay -o "lowerdir=$probe/lower,upperdir=$probe/upper,workdir=$probe/work" "$probe/merged" 2>/dev/null; then
    umount "$probe/merged"
    echo overlayfs
  else
    echo native
  fi
  rm -rf "$probe"
}

# restrict_oom_score_adj: without CAP_SYS_RESOURCE, a pod sandbox with -998 would make runc fail with
# "can't get final child's PID from pipe: EOF".
container_runtime() {
  local tars
  mkdir -p "$RUN/cni"
  # Routed pods (ptp) instead of a bridge: responses between pods always pass the NAT rules that rewrote the request, without the
  # kernel module br_netfilter, which many machines have not loaded.
  cat > "$RUN/cni/10-pods.conflist" <<J
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "ptp",
    "ipam": {"type": "host-local", "dataDir": "$RUN/cni/ipam", "ranges": [[{"subnet": "$POD_CIDR"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "backend": "nftables", "capabilities": {"portMappings": true}}]}
J
  cat > "$RUN/containerd.toml" <<T
version = 3
root = "$RUN/containerd"
state = "/run/containerd"
[grpc]
  address = "$RUN/containerd.sock"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "$(snapshotter)"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "localhost/agent-compliance/pause:dev"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["$BIN/cni"]
    conf_dir = "$RUN/cni"
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = "runc"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
        BinaryName = "$BIN/runc"
        SystemdCgroup = false
T
  COMMAND=("$BIN/containerd" --config "$RUN/containerd.toml")
  start containerd
  until_ok 120 ctr -a "$RUN/containerd.sock" version
  read -ra tars <<< "$IMPORT"
  for tar in "${tars[@]}"; do
    ctr -a "$RUN/containerd.sock" -n k8s.io images import --local --digests=false "$tar" >> "$RUN/log/import.log" 2>&1
  done
}

# failCgroupV1: false - v1 is sufficient, and some CI machines have only v1.
# syncFrequency and maxContainerRestartPeriod - tests wait for changed ConfigMaps and container restarts, which then take
# seconds instead of minutes.
# imageGCHighThresholdPercent: 100 and NeverVerify - an imported image cannot be pulled again, so it must not be garbage-collected
# or verified at a registry.
node_agent() {
  printf 'nameserver 127.0.0.1\n' > "$RUN/resolv.conf"
  cat > "$RUN/kubelet.yaml" <<Y
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /k8s-$NAME
containerRuntimeEndpoint: unix://$RUN/containerd.sock
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $PKI/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $PKI/kubelet.crt
tlsPrivateKeyFile: $PKI/kubelet.key
clusterDNS: [$CLUSTER_DNS]
clusterDomain: cluster.local
resolvConf: $RUN/resolv.conf
podLogsDir: /var/log/pods
volumePluginDir: $RUN/volumeplugins
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
imagePullCredentialsVerificationPolicy: NeverVerify
serializeImagePulls: false
registryPullQPS: 0
makeIPTablesUtilChains: false
eventRecordQPS: 0
evictionHard: {memory.available: 50Mi, nodefs.available: "0.1%", imagefs.available: "0.1%", nodefs.inodesFree: "0.1%"}
featureGates: {KubeletCrashLoopBackOffMax: true}
crashLoopBackOff: {maxContainerRestartPeriod: 10s}
syncFrequency: 4s
failSwapOn: false
maxPods: 110
Y
  COMMAND=("$BIN/kubelet" --config "$RUN/kubelet.yaml" --kubeconfig "$PKI/kubelet.kubeconfig" --root-dir "$RUN/kubelet"
    --hostname-override "$NODE" --node-ip "$NODE_IP" --v 2)
  start kubelet
}

# conntrack zeros: do not change the host's connection tracking.
service_proxy() {
  cat > "$RUN/kube-proxy.yaml" <<Y
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: $POD_CIDR
clientConnection: {kubeconfig: $PKI/proxy.kubeconfig}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
hostnameOverride: $NODE
Y
  COMMAND=("$BIN/kube-proxy" --config "$RUN/kube-proxy.yaml")
  start kube-proxy
}

hostname "$NODE"
mounts
sysctls
network
control_plane
lap "namespaces, network, keys"
container_runtime
lap "containerd, images imported"
api_ready "$PKI" 6443 "$apiserver" || { echo "kube-apiserver exited or did not become ready, see its log"; exit 1; }
lap "API server"
controller_manager_command "$PKI"
start kube-controller-manager
scheduler_command "$PKI"
start kube-scheduler
node_agent
service_proxy
kubectl apply -f "$CLUSTER_DIR/coredns.yaml" > "$RUN/log/coredns-apply.log"
kubectl wait --for=create "node/$NODE" --timeout=180s
kubectl wait --for=condition=Ready "node/$NODE" --timeout=180s
# Pods are rejected in a namespace without the default ServiceAccount.
kubectl -n default wait --for=create serviceaccount/default --timeout=180s
lap "node"
kubectl -n kube-system rollout status deployment/coredns --timeout=180s
lap "DNS"
touch "$RUN/ready"

# Reaps orphans of the container shims.
trap 'exit 0' TERM INT
while :; do wait -n 2>/dev/null || sleep 1; done
