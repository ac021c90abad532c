#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# with-cluster.sh COMMAND...: brings up a control plane of its own, runs COMMAND
# with MOONHELM_TEST_KUBECONFIG and MOONHELM_TEST_RESTRICTED_KUBECONFIG pointing
# at it, and takes it down. The control plane dies with this script, however it
# ends. The exit code is COMMAND's.
set -u
cluster="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/bin/cluster"
[ -x "$cluster" ] || { echo "with-cluster.sh: bin/cluster is not built: run make cluster" >&2; exit 1; }

coproc CLUSTER { exec "$cluster" up --until-stdin-closes; }
ready=
while read -r line <&"${CLUSTER[0]}"; do
	case $line in
	kubeconfig=*) export MOONHELM_TEST_KUBECONFIG=${line#*=} ;;
	restricted-kubeconfig=*) export MOONHELM_TEST_RESTRICTED_KUBECONFIG=${line#*=} ;;
	ready) ready=yes; break ;;
	esac
done
[ -n "$ready" ] || { echo "with-cluster.sh: the control plane did not come up" >&2; exit 1; }

"$@"
code=$?

pid=$CLUSTER_PID
eval "exec ${CLUSTER[1]}>&-"
wait "$pid" 2>/dev/null
exit $code
