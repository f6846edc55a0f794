#!/bin/bash
# down.sh - ends the cluster NAME without a trace. The death of its first process kills every process in its pid namespace;
# with the last of them go its mounts, its network and its devices; then its cgroups and files are removed.
# Safe when nothing runs, and after a run that died half-way.
set -uo pipefail
. "$(dirname "$(readlink -f "$0")")/layout.sh"
. "$CLUSTER_DIR/cgroup.sh"
NAME=${NAME:-e2e}
RUN=$(run_dir "$NAME") || exit 2

for file in init.pid holder.pid; do
  pid=$(cat "$RUN/$file" 2>/dev/null) || continue
  if [ -n "$pid" ] && runs "$pid" "node.sh $NAME"; then kill_and_wait "$pid" || exit 1; fi
done
remove_cgroup "$NAME" || exit 1
rm -rf "$RUN"
