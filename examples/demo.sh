#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Shows what helm does: installs examples/hello into a Kubernetes API server,
# looks at it from all sides, and removes it. Uses the cluster that KUBECONFIG
# names, and that one only: no one's ~/.kube/config is taken by surprise. Where
# none is named, brings up the local control plane of test/cluster and takes it
# down again.
set -euo pipefail
cd "$(dirname "$0")/.."
helm=bin/helm
release=hello-demo

if [ -n "${KUBECONFIG:-}" ]; then
	echo "Using the cluster of KUBECONFIG=$KUBECONFIG."
elif [ -n "${MOONHELM_TEST_KUBECONFIG:-}" ]; then
	export KUBECONFIG=$MOONHELM_TEST_KUBECONFIG
	echo "The control plane is up: etcd, kube-apiserver, controllers, scheduler, on 127.0.0.1."
else
	echo "No cluster is named (KUBECONFIG), so here is one of our own, on this machine only."
	test/cluster/build.sh
	exec test/with-cluster.sh "$0"
fi

trap '"$helm" uninstall "$release" --namespace moonhelm-demo --ignore-not-found >/dev/null 2>&1 || :' EXIT
bold= plain=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
run() {
	printf '\n%s$ helm %s%s\n' "$bold" "$*" "$plain"
	"$helm" "$@"
}

run lint examples/hello
run install "$release" examples/hello --namespace moonhelm-demo --create-namespace --set replicas=3 --wait --timeout 3m
run list --namespace moonhelm-demo
run status "$release" --namespace moonhelm-demo
run get values "$release" --namespace moonhelm-demo
run diff upgrade "$release" examples/hello --namespace moonhelm-demo --set replicas=2
run upgrade "$release" examples/hello --namespace moonhelm-demo --set replicas=2 --wait
run rollback "$release" --namespace moonhelm-demo --wait
run test "$release" --namespace moonhelm-demo --logs
run history "$release" --namespace moonhelm-demo
run uninstall "$release" --namespace moonhelm-demo --wait

# A chart whose script adds a sidecar to every Deployment; the trace shows it.
printf '\n%s$ helm template %s examples/sidecar --trace-events > /dev/null%s\n' "$bold" "$release" "$plain"
"$helm" template "$release" examples/sidecar --trace-events >/dev/null
run list --namespace moonhelm-demo

cat <<'END'

That was: lint checked the chart in examples/hello, install rendered its
templates with replicas=3, created the objects in order and waited until three
pods were ready; list, status, get and history read the release's record (a
Secret beside the objects); diff told what an upgrade would change, upgrade did it,
rollback went back, test ran the chart's test; uninstall removed all of it. Then a chart with a script of
its own was rendered: the trace shows what the script changed, and where it is. Only
the namespace moonhelm-demo is left.

To try next:
  bin/helm create web                    make a chart of your own
  bin/helm template web ./web            see what it renders to
  bin/helm create --with-scripts web     one with a script to start from
  bin/helm install --help                all that install can do
  bin/cluster up --detach --name play    a control plane that stays, for playing
                                         (its kubeconfig: bin/cluster kubeconfig --name play)
END
