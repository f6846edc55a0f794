# shellcheck shell=bash
# cgroup.sh - sourced by up.sh and down.sh: one cgroup per cluster, k8s-NAME, under which the kubelet puts every pod.

# is_unified - cgroup v2 alone; a v1 machine may have v2 mounted beside it, without controllers
is_unified() { [ "$(stat -fc %T /sys/fs/cgroup 2>/dev/null)" = cgroup2fs ]; }

# hierarchies - every mounted cgroup file system, v1 and v2
hierarchies() { awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/mounts; }

# make_cgroup NAME
make_cgroup() { if is_unified; then make_cgroup_v2 "$1"; else make_cgroup_v1 "$1"; fi; }

# v1: one in each hierarchy. A cpuset is empty until it gets its parent's values, and then nothing can run in it.
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

# v2: the kubelet refuses a root that lacks a controller which the machine has. What has to be switched on in the top
# cgroup for that is written down, and remove_cgroup switches it off again.
make_cgroup_v2() {
  local controller
  mkdir -p "/sys/fs/cgroup/k8s-$1"
  for controller in cpu cpuset memory pids hugetlb io; do
    grep -qw "$controller" /sys/fs/cgroup/cgroup.controllers || continue
    grep -qw "$controller" /sys/fs/cgroup/cgroup.subtree_control && continue
    echo "+$controller" > /sys/fs/cgroup/cgroup.subtree_control || {
      echo "cgroup v2: the controller $controller cannot be passed on (in a container, start it with --cgroupns=host)" >&2
      return 1
    }
    echo "$controller" >> "$CLUSTER_CACHE/cgroup-enabled"
  done
}

# remove_cgroup NAME - the processes in it are dead by now, but a just-killed one may keep its cgroup busy for a moment.
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

# The kernel refuses to switch a controller off while another cluster's cgroup uses it, and the last one down succeeds.
restore_controllers() {
  local controller
  [ -f "$CLUSTER_CACHE/cgroup-enabled" ] || return 0
  for root in /sys/fs/cgroup/k8s-*; do [ ! -d "$root" ] || return 0; done
  while read -r controller; do
    echo "-$controller" > /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true
  done < "$CLUSTER_CACHE/cgroup-enabled"
  rm -f "$CLUSTER_CACHE/cgroup-enabled"
}
