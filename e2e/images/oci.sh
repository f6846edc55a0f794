# shellcheck shell=bash
# oci.sh - sourced by build.sh: creates OCI image layouts with tar and sha256sum. The result is reproducible: the same files have
# the same digests, so an unchanged layer is not imported twice.

case $(uname -m) in
  x86_64) OCI_ARCHITECTURE=amd64 ;;
  aarch64) OCI_ARCHITECTURE=arm64 ;;
  *) echo "oci.sh: unsupported architecture $(uname -m)" >&2; exit 1 ;;
esac

deterministic_tar() { tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=gnu "$@"; }

# oci_blob LAYOUT FILE - moves FILE into the layout, prints "sha256:<digest>\",\"size\":<bytes>" for a descriptor
oci_blob() {
  local sum size
  sum=$(sha256sum "$2" | cut -d' ' -f1)
  size=$(stat -c %s "$2")
  mv "$2" "$1/blobs/sha256/$sum"
  printf '"digest":"sha256:%s","size":%s' "$sum" "$size"
}

# oci_layout LAYOUT - creates an empty layout
oci_layout() {
  rm -rf "$1"
  mkdir -p "$1/blobs/sha256"
  printf '{"imageLayoutVersion":"1.0.0"}' > "$1/oci-layout"
  : > "$1/manifests"
}

# oci_layer LAYOUT DIRECTORY - prints the descriptor of a layer with the content of DIRECTORY
oci_layer() {
  deterministic_tar --mode=u+rwX,go+rX,go-w -C "$2" -cf "$1/layer" .
  oci_blob "$1" "$1/layer"
}

# oci_image LAYOUT REFERENCES CONFIG LAYER_DESCRIPTOR... - adds an image with one or more names (separated by spaces);
# CONFIG is the JSON object of the image's "config"
oci_image() {
  local layout=$1 references=$2 config=$3 layer layers="" diffs="" reference manifest
  shift 3
  for layer in "$@"; do
    layers+="${layers:+,}{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar\",$layer}"
    layer=${layer#*:\"}
    diffs+="${diffs:+,}\"${layer%%\"*}\""
  done
  printf '{"architecture":"%s","os":"linux","config":%s,"rootfs":{"type":"layers","diff_ids":[%s]}}' \
    "$OCI_ARCHITECTURE" "$config" "$diffs" > "$layout/config"
  printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json",%s},"layers":[%s]}' \
    "$(oci_blob "$layout" "$layout/config")" "$layers" > "$layout/manifest"
  manifest=$(oci_blob "$layout" "$layout/manifest")
  for reference in $references; do
    printf '{"mediaType":"application/vnd.oci.image.manifest.v1+json",%s,"platform":{"architecture":"%s","os":"linux"},"annotations":{"io.containerd.image.name":"%s","org.opencontainers.image.ref.name":"%s"}}\n' \
      "$manifest" "$OCI_ARCHITECTURE" "$reference" "${reference##*:}" >> "$layout/manifests"
  done
}

# oci_archive LAYOUT FILE - writes all images of the layout to one archive, atomically
oci_archive() {
  printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s]}' \
    "$(paste -sd, "$1/manifests")" > "$1/index.json"
  deterministic_tar -C "$1" -cf "$2.new" oci-layout index.json blobs
  mv "$2.new" "$2"
}
