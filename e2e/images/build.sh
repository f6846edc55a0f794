#!/bin/bash
# build.sh - builds OCI archives without Docker:
#   cluster.tar  in the cache:     pause, CoreDNS and OPA, shared by all checkouts
#   app.tar      in node_modules:  one image per target of images/Dockerfile, from the bundles in dist/ (`npm run build`)
# The images are named localhost/agent-compliance/<name>:dev. The product's images also have the chart's version as a tag, so that
# the chart only needs `--set image.registry=localhost`. Instead of the distroless base, which would have to be pulled, the base
# is a layer with the project's own Node.js at the same path. The layers above follow the Dockerfile.
# A second run after a code change takes about a second.
#   ONLY="sidecar webhook"   rebuilds only these targets; the others in app.tar are kept
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
if [ -n "${E2E_KUBECONFIG:-}" ]; then
  echo "E2E_KUBECONFIG is set: no images built, the cluster uses E2E_IMAGE_PREFIX and E2E_IMAGE_TAG"
  exit 0
fi
. "$here/../cluster/layout.sh"
. "$here/oci.sh"
ROOT=$(dirname "$(dirname "$here")")
PREFIX=localhost/agent-compliance
NODE=$("$ROOT/scripts/node-bin")/node
started=$(date +%s%N)

mkdir -p "$BASE_IMAGES" "$APP_IMAGES"
exec 9> "$BASE_IMAGES/.lock"
flock 9
work=$(mktemp -d "$BASE_IMAGES/.work-XXXXXX")
trap 'rm -rf "$work"' EXIT

# fresh FILE KEY - succeeds if FILE was built from the inputs in KEY
fresh() { [ -e "$1" ] && [ "$(cat "$1.key" 2>/dev/null)" = "$2" ]; }

# --- the cluster's own images: only static binaries
cluster_archive() {
  local key layout=$work/cluster name
  key="$(sha256sum "$here/pause.c" "$here/oci.sh" | sha256sum) coredns $COREDNS_VERSION opa $OPA_VERSION"
  fresh "$BASE_IMAGES/cluster.tar" "$key" && return
  binaries_there coredns opa
  oci_layout "$layout"
  for name in pause coredns opa; do mkdir -p "$work/$name"; done
  gcc -Os -static -s -o "$work/pause/pause" "$here/pause.c"
  oci_image "$layout" "$PREFIX/pause:dev" '{"Entrypoint":["/pause"]}' "$(oci_layer "$layout" "$work/pause")"
  cp "$BIN/coredns" "$work/coredns/"
  oci_image "$layout" "$PREFIX/coredns:dev" '{"Entrypoint":["/coredns"]}' "$(oci_layer "$layout" "$work/coredns")"
  # User, entrypoint and command as in OPA's official image.
  cp "$BIN/opa" "$work/opa/"
  oci_image "$layout" "$PREFIX/opa:dev" '{"User":"1000:1000","WorkingDir":"/","Entrypoint":["/opa"],"Cmd":["run"]}' "$(oci_layer "$layout" "$work/opa")"
  oci_archive "$layout" "$BASE_IMAGES/cluster.tar"
  echo "$key" > "$BASE_IMAGES/cluster.tar.key"
  report "$BASE_IMAGES/cluster.tar" pause coredns opa
}

# --- the base layer of every product image: Node.js at the path of distroless, its shared objects, CA certificates, a user
libraries() { ldd "$NODE" | grep -oE '/[^ ]+' | sort -u; }

node_layer() {
  local key root=$work/node library
  key=$( (libraries | xargs sha256sum; sha256sum "$NODE" /etc/ssl/certs/ca-certificates.crt "$here/build.sh") | sha256sum)
  fresh "$BASE_IMAGES/node.layer" "$key" && return
  mkdir -p "$root"/{nodejs/bin,tmp,etc/ssl/certs,home/nonroot}
  chmod 1777 "$root/tmp"
  cp "$NODE" "$root/nodejs/bin/node"
  strip --strip-unneeded "$root/nodejs/bin/node" 2>/dev/null || true
  while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
  done < <(libraries)
  # glibc loads these by name to resolve host names.
  for library in libnss_files.so.2 libnss_dns.so.2 libresolv.so.2; do
    library=$(dirname "$(libraries | grep '/libc.so.6$')")/$library
    if [ -e "$library" ]; then cp -L "$library" "$root$library"; fi
  done
  printf 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n' > "$root/etc/passwd"
  printf 'root:x:0:\nnonroot:x:65532:\n' > "$root/etc/group"
  printf 'hosts: files dns\n' > "$root/etc/nsswitch.conf"
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  # Keeps the sticky bit of /tmp, so the modes are not normalised as in oci_layer.
  deterministic_tar -C "$root" -cf "$BASE_IMAGES/node.layer.new" .
  mv "$BASE_IMAGES/node.layer.new" "$BASE_IMAGES/node.layer"
  echo "$key" > "$BASE_IMAGES/node.layer.key"
}

# --- the product's images
app_archive() {
  local layout=$work/app laid=$APP_IMAGES/targets base target targets version
  version=$(sed -n 's/^appVersion: //p' "$ROOT/helm/agent-compliance/Chart.yaml")
  # As in the stage "cache" of the Dockerfile. The Node.js of the base layer is this one.
  rm -rf "$ROOT/dist/code-cache"
  "$NODE" --random-seed=1 "$ROOT/images/fill-code-cache.cjs" "$ROOT/dist/sidecar/main.js" "$ROOT/dist/code-cache"
  # One directory per target with rootfs/ (from its COPY lines) and config.json. They are kept for runs with ONLY.
  targets=$("$NODE" "$here/dockerfile.ts" "$laid" "${ONLY:-}")
  oci_layout "$layout"
  cp "$BASE_IMAGES/node.layer" "$layout/layer"
  base=$(oci_blob "$layout" "$layout/layer")
  for target in $targets; do
    oci_image "$layout" "$PREFIX/$target:dev $PREFIX/$target:$version" "$(cat "$laid/$target/config.json")" \
      "$base" "$(oci_layer "$layout" "$laid/$target/rootfs")"
  done
  oci_archive "$layout" "$APP_IMAGES/app.tar"
  # shellcheck disable=SC2086  # a list of names
  report "$APP_IMAGES/app.tar" $targets
}

report() {
  local file=$1
  shift
  echo "built $file: $* ($(($(stat -c %s "$file") / 1048576)) MiB)"
}

cluster_archive
node_layer
app_archive
echo "images ready in $((($(date +%s%N) - started) / 1000000)) ms"
