# shellcheck shell=bash
# cgroup.sh - sourced by up.sh and down.sh: one cgroup per cluster, k8s-NAME, as the parent of all pod cgroups.

# is_unified - cgroup v2 only; a v1 machine may also have v2 mounted, without controllers
is_unified() { [ "$(stat -fc %T /sys/fs/cgroup 2>/dev/null)" = cgroup2fs ]; }

# hierarchies - every mounted cgroup file system, v1 and v2
hierarchies() { awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/mounts; }

# make_cgroup NAME
make_cgroup() { if is_unified; then make_cgroup_v2 "$1"; else make_cgroup_v1 "$1"; fi; }

# v1: one cgroup in each hierarchy. Processes can run only after the cpuset has the values of its parent.
make_cgroup_v1() {
  local root own file
  while read -r root; do
    own=$root/k8s-$1
    mkdir -p "$own"
    for file in cpuset.cpus cpuset.mems; do
      if [ -f "$root/$file" ]; then cat "$root/$file" > "$own/$file"; fi
    done
  done < <(awk '$3 == "cgroup" { print $2 }' /proc/mounts)
}

# v2: the kubelet rejects a root cgroup without all controllers of the machine. Controllers that are enabled in the top cgroup
# for this are recorded, and remove_cgroup disables them again.
make_cgroup_v2() {
  local controller
  mkdir -p "/sys/fs/cgroup/k8s-$1"
  for controller in cpu cpuset memory pids hugetlb io; do
    grep -qw "$controller" /sys/fs/cgroup/cgroup.controllers || continue
    grep -qw "$controller" /sys/fs/cgroup/cgroup.subtree_control && continue
    echo "+$controller" > /sys/fs/cgroup/cgroup.subtree_control || {
      echo "cgroup v2: cannot delegate the controller $controller (start a container with --cgroupns=host)" >&2
      return 1
    }
    echo "$controller" >> "$CLUSTER_CACHE/cgroup-enabled"
  done
}

# remove_cgroup NAME - its processes have ended, but a just-killed process may keep the cgroup busy for a moment.
remove_cgroup() {
  local root left
  for _ in $(seq 50); do
    left=0
    while read -r root; do
      [ -d "$root/k8s-$1" ] || continue
      find "$root/k8s-$1" -depth -type d -exec rmdir {} \; 2>/dev/null
      if [ -d "$root/k8s-$1" ]; then left=1; fi
    done < <(hierarchies)
    [ "$left" = 1 ] || break
    sleep 0.1
  done
  [ "$left" = 0 ] || { echo "the cgroup k8s-$1 is still in use" >&2; return 1; }
  restore_controllers
}

# The kernel does not disable a controller while another cluster's cgroup uses it; the last cluster disables it.
restore_controllers() {
  local controller
  [ -f "$CLUSTER_CACHE/cgroup-enabled" ] || return 0
  for root in /sys/fs/cgroup/k8s-*; do [ ! -d "$root" ] || return 0; done
  while read -r controller; do
    echo "-$controller" > /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true
  done < "$CLUSTER_CACHE/cgroup-enabled"
  rm -f "$CLUSTER_CACHE/cgroup-enabled"
}
