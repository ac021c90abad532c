#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# with-cluster.sh COMMAND...: starts a control plane, runs COMMAND with the paths of its
# kubeconfigs in MOONHELM_TEST_KUBECONFIG and MOONHELM_TEST_RESTRICTED_KUBECONFIG, and stops it.
# The control plane ends with this script, even if that is killed. If both variables are set, it
# uses that cluster. The exit code is COMMAND's.
set -u
if [ -n "${MOONHELM_TEST_KUBECONFIG:-}" ] && [ -n "${MOONHELM_TEST_RESTRICTED_KUBECONFIG:-}" ]; then
	exec "$@"
fi
cluster="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/bin/cluster"
[ -x "$cluster" ] || { echo "with-cluster.sh: bin/cluster is not built: run make cluster" >&2; exit 1; }

# The API server ends if it cannot create its first objects within half a minute, which happens
# on a machine with too much to do. A second attempt finds it in another state.
ready=
for _ in 1 2; do
	coproc CLUSTER { exec "$cluster" up --until-stdin-closes; }
	pid=$CLUSTER_PID output=${CLUSTER[0]} input=${CLUSTER[1]}
	while read -r line <&"$output"; do
		case $line in
		kubeconfig=*) export MOONHELM_TEST_KUBECONFIG=${line#*=} ;;
		restricted-kubeconfig=*) export MOONHELM_TEST_RESTRICTED_KUBECONFIG=${line#*=} ;;
		ready) ready=yes; break ;;
		esac
	done
	[ -z "$ready" ] || break
	wait "$pid" 2>/dev/null
done
[ -n "$ready" ] || { echo "with-cluster.sh: the control plane did not come up" >&2; exit 1; }

"$@"
code=$?

eval "exec $input>&-"
wait "$pid" 2>/dev/null
exit $code
