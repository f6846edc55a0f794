#!/bin/bash
# pki.sh DIR SERVER_URL [NODE_NAME NODE_IP] - creates two CAs, the components' certificates and kubeconfigs with openssl.
# Uses elliptic curves, which take a tenth of the time of RSA keys. Valid for ten years, deleted with the cluster.
set -euo pipefail
DIR=$1 SERVER=$2 NODE=${3:-} NODE_IP=${4:-127.0.0.1}
umask 077
mkdir -p "$DIR"
cd "$DIR"

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }

# make_ca NAME COMMON_NAME
make_ca() {
  key "$1"
  openssl req -x509 -new -key "$1.key" -subj "/CN=$2" -days 3650 -out "$1.crt" \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign,digitalSignature
}

# certificate NAME SUBJECT CA [ALTERNATIVE_NAMES]
certificate() {
  key "$1"
  {
    echo "basicConstraints=CA:FALSE"
    echo "keyUsage=digitalSignature"
    echo "extendedKeyUsage=serverAuth,clientAuth"
    if [ -n "${4:-}" ]; then echo "subjectAltName=$4"; fi
  } > "$1.ext"
  openssl req -new -key "$1.key" -subj "$2" |
    openssl x509 -req -CA "$3.crt" -CAkey "$3.key" -CAcreateserial -days 3650 -extfile "$1.ext" -out "$1.crt" 2>/dev/null
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
key sa
openssl ec -in sa.key -pubout -out sa.pub 2>/dev/null
