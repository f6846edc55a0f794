#!/bin/bash
# kind.sh up|down - a kind cluster for the e2e suite; needs Docker, kind, kubectl and helm. `up` prints variables to export.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/layout.sh"
ROOT=$(dirname "$(dirname "$CLUSTER_DIR")")
CLUSTER=agent-compliance
KUBECONFIG_FILE=$CLUSTER_CACHE/kind.kubeconfig
PREFIX=localhost/agent-compliance

VERSION=$(sed -n 's/^appVersion: //p' "$ROOT/helm/agent-compliance/Chart.yaml")

# load IMAGE... - from Docker's store into the cluster's node
load() { kind load docker-image --name "$CLUSTER" "$@"; }

case ${1:-} in
  up)
    mkdir -p "$CLUSTER_CACHE"
    kind create cluster --config "$ROOT/kind-config.yaml" --kubeconfig "$KUBECONFIG_FILE" --wait 120s
    while read -r target; do
      docker build --file "$ROOT/images/Dockerfile" --target "$target" \
        --tag "$PREFIX/$target:dev" --tag "$PREFIX/$target:$VERSION" "$ROOT" < /dev/null
      load "$PREFIX/$target:dev" "$PREFIX/$target:$VERSION" < /dev/null
    done < <(sed -n 's/^FROM base AS //p' "$ROOT/images/Dockerfile")
    docker pull "openpolicyagent/opa:${OPA_VERSION#v}"
    docker tag "openpolicyagent/opa:${OPA_VERSION#v}" "$PREFIX/opa:dev"
    load "$PREFIX/opa:dev"
    echo "export KUBECONFIG=$KUBECONFIG_FILE E2E_KUBECONFIG=$KUBECONFIG_FILE"
    ;;
  down)
    kind delete cluster --name "$CLUSTER" --kubeconfig "$KUBECONFIG_FILE"
    rm -f "$KUBECONFIG_FILE"
    ;;
  *) echo "usage: kind.sh up|down" >&2; exit 2 ;;
esac
