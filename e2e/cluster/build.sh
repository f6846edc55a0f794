#!/bin/bash
# build.sh - builds all binaries of a single-node Kubernetes (and OPA, helm, kwok) from Go modules; versions are in versions.env.
#
# Idempotent: a binary with the wanted version in its stamp is not rebuilt, so a second run takes a tenth of a second.
#   ONLY="etcd kube-apiserver kubectl opa"   builds only these (the level of control.sh)
#   E2E_KUBECONFIG=...   uses an existing cluster: no node binaries; without Go, kubectl and helm of this machine are used
# Requires Go and gcc. On Debian as root it installs the packages for runc and the node; elsewhere it reports missing ones.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/layout.sh"

CONTROL="etcd kube-apiserver kubectl opa helm kube-controller-manager kube-scheduler actionlint cyclonedx schemas kube-score"
ALL="$CONTROL kubelet kube-proxy containerd containerd-shim-runc-v2 ctr cni runc coredns kwok"
# Built only on request, because not every Go module proxy has it. Exit 3, with the reason, if it is not available.
OPTIONAL="kube-linter otel-collector"
if [ -n "${E2E_KUBECONFIG:-}" ]; then
  ONLY=${ONLY:-$CONTROL}
  if ! command -v go >/dev/null; then
    for name in kubectl helm; do
      command -v "$name" >/dev/null || { echo "build.sh: neither Go nor $name found" >&2; exit 1; }
    done
    echo "Go is missing: using the kubectl and helm of this machine for the cluster of E2E_KUBECONFIG"
    exit 0
  fi
fi
ONLY=${ONLY:-$ALL}
MODULES=$CLUSTER_CACHE/build   # one small wrapper module per upstream module
STAMPS=$BIN/.stamps
mkdir -p "$STAMPS" "$BIN/cni" "$MODULES"
export CGO_ENABLED=0 GOWORK=off GOFLAGS=
started=$SECONDS

# Concurrent builds write the same files: the second build waits and then finds everything built.
exec 9> "$CLUSTER_CACHE/build.lock"
flock 9

want() { [[ " $ONLY " == *" $1 "* ]]; }
for name in $ONLY; do
  [[ " $ALL $OPTIONAL " == *" $name "* ]] || { echo "build.sh: unknown binary '$name'; known: $ALL $OPTIONAL" >&2; exit 2; }
done

# built BINARY VERSION - succeeds if this version is already built
built() { [ -x "$BIN/$1" ] && [ "$(cat "$STAMPS/${1//\//_}" 2>/dev/null)" = "$2" ]; }

# compile BINARY VERSION MODULE_DIR PACKAGE [TAGS] [LDFLAGS]
compile() {
  built "$1" "$2" && return 0
  local start=$SECONDS
  (cd "$3" && go build -mod=mod -buildvcs=false -trimpath -tags "${5:-}" -ldflags "-s -w ${6:-}" -o "$BIN/$1" "$4")
  echo "$2" > "$STAMPS/${1//\//_}"
  echo "built $1 $2 in $((SECONDS - start)) s, $(($(stat -c %s "$BIN/$1") / 1048576)) MiB"
}

# module NAME PATH VERSION - prints the directory of a wrapper module that requires PATH. A wrapper is needed because `go install
# PATH@VERSION` rejects modules with replace directives, and because the build then has its own go.sum.
module() {
  local dir=$MODULES/$1
  mkdir -p "$dir"
  if ! grep -qs "^require $2 $3$" "$dir/go.mod"; then
    printf 'module build.test/%s\n\ngo %s\n\nrequire %s %s\n' "$1" "$GO_MINIMUM" "$2" "$3" > "$dir/go.mod"
    rm -f "$dir/go.sum"
  fi
  echo "$dir"
}

# k8s.io/kubernetes replaces each staging module by a directory of its repository, which dependent modules ignore. The wrapper
# replaces each with its published module instead, v0.X.Y for Kubernetes v1.X.Y. Godebug lines are copied too.
kubernetes_module() {
  local dir=$MODULES/kubernetes upstream
  mkdir -p "$dir"
  if ! grep -qs "^require k8s.io/kubernetes $KUBERNETES_VERSION$" "$dir/go.mod"; then
    upstream=$(cd "$dir" && GO111MODULE=on go mod download -json "k8s.io/kubernetes@$KUBERNETES_VERSION" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
    {
      printf 'module build.test/kubernetes\n\n'
      grep -E '^(go|godebug) ' "$upstream"
      printf '\nrequire k8s.io/kubernetes %s\n\nreplace (\n' "$KUBERNETES_VERSION"
      sed -n '/^replace (/,/^)/p' "$upstream" | awk -v twin="v0.${KUBERNETES_VERSION#v1.}" '/=>/ { print "\t" $1 " => " $1 " " twin }'
      echo ")"
    } > "$dir/go.mod.new"
    mv "$dir/go.mod.new" "$dir/go.mod"
    rm -f "$dir/go.sum"
  fi
  echo "$dir"
}

# The version for `kubectl version` and /version; a build from a module has no git metadata.
kubernetes_ldflags() {
  local minor=${KUBERNETES_VERSION#v1.} package
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    printf -- '-X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=%s ' "$package" "$KUBERNETES_VERSION" "$package" "$package" "${minor%%.*}"
    printf -- '-X %s.gitTreeState=clean -X %s.gitCommit=gomodule -X %s.buildDate=1970-01-01T00:00:00Z ' "$package" "$package" "$package"
  done
}

# CoreDNS with only the eight plugins that coredns.yaml uses: half the build time, three quarters of the size.
coredns_main() {
  cat > "$1/main.go" <<'GO'
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/ready"
)

func init() {
	dnsserver.Directives = []string{"health", "ready", "errors", "log", "cache", "hosts", "kubernetes", "forward"}
}

func main() { coremain.Run() }
GO
}

# need COMMAND_OR_FILE PACKAGE... - installs Debian packages if the command or file is missing; apt-get update at most once.
apt_updated=0
need() {
  local thing=$1
  shift
  if [ "${thing#/}" != "$thing" ] && [ -e "$thing" ]; then return 0; fi
  if command -v "$thing" >/dev/null 2>&1; then return 0; fi
  if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" != 0 ]; then
    echo "build.sh: $thing is missing; install it (Debian: apt-get install $*)" >&2
    return 1
  fi
  [ "$apt_updated" = 1 ] || apt-get -o DPkg::Lock::Timeout=300 update -q > "$CLUSTER_CACHE/apt.log" 2>&1 || true
  apt_updated=1
  echo "installing $*"
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends "$@" >> "$CLUSTER_CACHE/apt.log" 2>&1 ||
    { tail -5 "$CLUSTER_CACHE/apt.log" >&2; return 1; }
}

want etcd && compile etcd "$ETCD_VERSION" "$(module etcd go.etcd.io/etcd/server/v3 "$ETCD_VERSION")" go.etcd.io/etcd/server/v3

# In the order of ALL, so that binaries for the integration tests come first.
kubernetes() {
  want "$1" || return 0
  built "$1" "$KUBERNETES_VERSION" && return 0
  compile "$1" "$KUBERNETES_VERSION" "$(kubernetes_module)" "k8s.io/kubernetes/cmd/$1" "" "$(kubernetes_ldflags)"
}
kubernetes kube-apiserver
kubernetes kubectl

want opa && compile opa "$OPA_VERSION" "$(module opa github.com/open-policy-agent/opa "$OPA_VERSION")" github.com/open-policy-agent/opa
want helm && compile helm "$HELM_VERSION" "$(module helm helm.sh/helm/v3 "$HELM_VERSION")" helm.sh/helm/v3/cmd/helm "" \
  "-X helm.sh/helm/v3/internal/version.version=$HELM_VERSION"

for binary in kube-controller-manager kube-scheduler kubelet kube-proxy; do kubernetes "$binary"; done

# For the release tests: the linter of the workflows, and the published schemas of the SBOMs.
want actionlint && compile actionlint "$ACTIONLINT_VERSION" "$(module actionlint github.com/rhysd/actionlint "$ACTIONLINT_VERSION")" \
  github.com/rhysd/actionlint/cmd/actionlint
cyclonedx_schemas() {
  local directory
  directory=$(cd "$1" && GO111MODULE=on go mod download -json "github.com/CycloneDX/cyclonedx-go@$CYCLONEDX_VERSION" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
  mkdir -p "$BIN/cyclonedx"
  install -m 644 "$directory"/schema/{bom-1.6.schema.json,spdx.schema.json,jsf-0.82.schemax.json} "$BIN/cyclonedx/"
}
if want cyclonedx && ! built cyclonedx "$CYCLONEDX_VERSION"; then
  cyclonedx_schemas "$(module cyclonedx github.com/CycloneDX/cyclonedx-go "$CYCLONEDX_VERSION")"
  echo "$CYCLONEDX_VERSION" > "$STAMPS/cyclonedx"
fi

# For the chart tests: the schemas of the oldest supported Kubernetes and of the one used here, the schemas of the Prometheus
# Operator's objects, and a manifest linter. For the tests of the CLI: the schema of SARIF.
directory_of() { (cd "$MODULES" && GO111MODULE=on go mod download -json "$1" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'); }
if want schemas && ! built schemas "$SCHEMAS_VERSIONS"; then
  mkdir -p "$BIN/schemas"
  for version in "$KUBERNETES_OLDEST_VERSION" "$KUBERNETES_VERSION"; do
    directory=$(directory_of "k8s.io/kubernetes@$version")
    install -m 644 "$directory/api/openapi-spec/swagger.json" "$BIN/schemas/kubernetes-$version.json"
  done
  directory=$(directory_of "github.com/prometheus-operator/prometheus-operator@$PROMETHEUS_OPERATOR_VERSION")
  for kind in servicemonitors podmonitors prometheusrules; do
    install -m 644 "$directory/example/prometheus-operator-crd/monitoring.coreos.com_$kind.yaml" "$BIN/schemas/$kind.yaml"
  done
  # The schema of SARIF is a raw string in a Go file.
  directory=$(directory_of "github.com/owenrumney/go-sarif/v3@$GO_SARIF_VERSION")
  sed -e 's/^const schema = `//' -e '/^package /d' -e 's/^`$//' "$directory/pkg/report/v210/sarif/schema.go" > "$BIN/schemas/sarif-2.1.0.json.new"
  mv "$BIN/schemas/sarif-2.1.0.json.new" "$BIN/schemas/sarif-2.1.0.json"
  echo "$SCHEMAS_VERSIONS" > "$STAMPS/schemas"
fi
want kube-score && compile kube-score "$KUBE_SCORE_VERSION" "$(module kube-score github.com/zegl/kube-score "$KUBE_SCORE_VERSION")" \
  github.com/zegl/kube-score/cmd/kube-score

if want kube-linter && ! built kube-linter "$KUBE_LINTER_VERSION"; then
  dir=$(module kube-linter golang.stackrox.io/kube-linter "$KUBE_LINTER_VERSION")
  # Downloads the module and its dependencies without building.
  if ! output=$(cd "$dir" && go list -mod=mod -deps golang.stackrox.io/kube-linter/cmd/kube-linter 2>&1 >/dev/null); then
    echo "kube-linter $KUBE_LINTER_VERSION is not available: ${output##*$'\n'}" >&2
    exit 3
  fi
  compile kube-linter "$KUBE_LINTER_VERSION" "$dir" golang.stackrox.io/kube-linter/cmd/kube-linter "" \
    "-X golang.stackrox.io/kube-linter/internal/version.version=$KUBE_LINTER_VERSION"
fi

# For the test of the readers of the audit log: a collector with the components of the guide. Its module has the versions.
COLLECTOR=$CLUSTER_DIR/../../testing/siem/collector
if want otel-collector; then
  version=$(cat "$COLLECTOR"/{go.mod,go.sum,main.go} | sha256sum | cut -c1-16)
  if ! built otel-collector "$version"; then
    if ! output=$(cd "$COLLECTOR" && go list -deps . 2>&1 >/dev/null); then
      echo "the modules of the OpenTelemetry Collector are not available: ${output##*$'\n'}" >&2
      exit 3
    fi
    compile otel-collector "$version" "$COLLECTOR" .
  fi
fi

CONTAINERD_MODULE=github.com/containerd/containerd/v2
for binary in containerd containerd-shim-runc-v2 ctr; do
  want "$binary" && compile "$binary" "$CONTAINERD_VERSION" "$(module containerd "$CONTAINERD_MODULE" "$CONTAINERD_VERSION")" \
    "$CONTAINERD_MODULE/cmd/$binary" "no_btrfs no_devmapper no_zfs" "-X $CONTAINERD_MODULE/version.Version=$CONTAINERD_VERSION"
done

if want cni; then
  CNI_MODULE=github.com/containernetworking/plugins
  for plugin in main/ptp main/loopback ipam/host-local meta/portmap; do
    compile "cni/${plugin#*/}" "$CNI_PLUGINS_VERSION" "$(module cni "$CNI_MODULE" "$CNI_PLUGINS_VERSION")" "$CNI_MODULE/plugins/$plugin"
  done
fi

if want runc; then
  # Tools of the node in addition to runc: for its scripts, the kubelet, kube-proxy and the CNI plugins.
  need gcc gcc libc6-dev
  need openssl openssl
  need pgrep procps
  need ip iproute2
  need nft nftables
  need /usr/include/seccomp.h libseccomp-dev
  # Built from source, because Debian's package is years older than this containerd requires.
  CGO_ENABLED=1 compile runc "$RUNC_VERSION" "$(module runc github.com/opencontainers/runc "$RUNC_VERSION")" \
    github.com/opencontainers/runc seccomp "-X main.version=${RUNC_VERSION#v}"
fi

if want coredns && ! built coredns "$COREDNS_VERSION"; then
  dir=$(module coredns github.com/coredns/coredns "$COREDNS_VERSION")
  coredns_main "$dir"
  compile coredns "$COREDNS_VERSION" "$dir" .
fi

# kwok's module contains the stages of its fake nodes and pods, but the binary does not load them by default.
kwok_stages() {
  local directory file
  directory=$(cd "$1" && go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage
  for file in node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease pod/fast/pod-ready pod/fast/pod-complete pod/fast/pod-delete; do
    echo ---
    cat "$directory/$file.yaml"
  done > "$BIN/kwok-stages.yaml"
}
if want kwok && ! { built kwok "$KWOK_VERSION" && [ -s "$BIN/kwok-stages.yaml" ]; }; then
  dir=$(module kwok sigs.k8s.io/kwok "$KWOK_VERSION")
  compile kwok "$KWOK_VERSION" "$dir" sigs.k8s.io/kwok/cmd/kwok
  kwok_stages "$dir"
fi

echo "binaries ready in $BIN ($((SECONDS - started)) s)"
