#!/bin/bash
# pki.sh DIR SERVER_URL [NODE_NAME NODE_IP] - creates two CAs, the components' certificates and kubeconfigs with openssl.
# Uses elliptic curves, which take a tenth of the time of RSA keys. Valid for ten years, deleted with the cluster.
set -euo pipefail
DIR=$1 SERVER=$2 NODE=${3:-} NODE_IP=${4:-127.0.0.1}
umask 077
mkdir -p "$DIR"
cd "$DIR"

# issue NAME SUBJECT EXTENSIONS [OPTION...] - a key and its certificate in one process; self-signed without -CA (OpenSSL 3).
# `openssl x509 -req` takes four times the processor time.
issue() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -out "$1.crt" -subj "$2" -days 3650 \
    -config <(printf '[req]\ndistinguished_name=name\nx509_extensions=extensions\n[name]\n[extensions]\n%s\n' "$3") "${@:4}" 2> "$1.log" ||
    { cat "$1.log" >&2; return 1; }
}

# make_ca NAME COMMON_NAME
make_ca() { issue "$1" "/CN=$2" $'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign,digitalSignature'; }

# certificate NAME SUBJECT CA [ALTERNATIVE_NAMES]
certificate() {
  local extensions=$'basicConstraints=CA:FALSE\nkeyUsage=digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\n'
  issue "$1" "$2" "$extensions${4:+subjectAltName=$4}" -CA "$3.crt" -CAkey "$3.key"
}

# kubeconfig NAME - for the certificate with that name
kubeconfig() {
  cat > "$1.kubeconfig" <<Y
apiVersion: v1
kind: Config
clusters: [{name: e2e, cluster: {server: "$SERVER", certificate-authority-data: $(base64 -w0 < ca.crt)}}]
users: [{name: $1, user: {client-certificate-data: $(base64 -w0 < "$1.crt"), client-key-data: $(base64 -w0 < "$1.key")}}]
contexts: [{name: e2e, context: {cluster: e2e, user: $1}}]
current-context: e2e
Y
}

make_ca ca e2e-ca
make_ca front-ca e2e-front-proxy-ca
certificate apiserver "/CN=kube-apiserver" ca \
  "IP:127.0.0.1,IP:$NODE_IP,IP:10.96.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
certificate front-proxy "/CN=front-proxy-client" front-ca
certificate admin "/O=system:masters/CN=admin" ca
certificate controller-manager "/CN=system:kube-controller-manager" ca
certificate scheduler "/CN=system:kube-scheduler" ca
for name in admin controller-manager scheduler; do kubeconfig "$name"; done
if [ -n "$NODE" ]; then
  certificate apiserver-kubelet "/O=system:masters/CN=kube-apiserver-kubelet-client" ca
  certificate proxy "/CN=system:kube-proxy" ca
  certificate kubelet "/O=system:nodes/CN=system:node:$NODE" ca "IP:$NODE_IP,DNS:$NODE"
  for name in proxy kubelet; do kubeconfig "$name"; done
fi
openssl ecparam -name prime256v1 -genkey -noout -out sa.key
openssl ec -in sa.key -pubout -out sa.pub 2>/dev/null
