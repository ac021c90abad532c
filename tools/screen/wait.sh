#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# wait.sh [FILE]: makes docs/wait.svg, the picture of README.md, from a real install into the cluster of
# KUBECONFIG: bin/helm installs the chart beside this file in a terminal of tmux, and each screen that
# differs from the one before is a picture. The release is removed again.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(realpath "${1:-docs/wait.svg}")
command -v tmux >/dev/null || { echo "wait.sh: tmux is not installed" >&2; exit 1; }
[ -x bin/helm ] || { echo "wait.sh: bin/helm is not there: make build" >&2; exit 1; }
export KUBECONFIG=${KUBECONFIG:-${MOONHELM_TEST_KUBECONFIG:-}} # of test/with-cluster.sh
: "${KUBECONFIG:?names no cluster: test/with-cluster.sh tools/screen/wait.sh brings one up}"

columns=92 rows=18 namespace=shop
if bin/helm status shop -n "$namespace" >/dev/null 2>&1; then
	echo "wait.sh: the cluster has a release shop in the namespace $namespace already" >&2
	exit 1
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/moonhelm-screen.XXXXXX")
screen() { tmux -S "$work/tmux" -f /dev/null "$@"; }
cleanup() {
	screen kill-session -t wait 2>/dev/null || true
	bin/helm uninstall shop -n "$namespace" >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap cleanup EXIT
cp -r tools/screen/shop "$work/shop"
screen new-session -d -s wait -x "$columns" -y "$rows" -c "$work" \
	"env PATH=$PWD/bin:$PATH HELM_NAMESPACE=$namespace TERM=screen-256color LC_ALL=C.UTF-8 PS1='$ ' sh"
sleep 1
screen send-keys -t wait 'helm install shop ./shop --wait --create-namespace' Enter
frame=0
for _ in $(seq 150); do
	screen capture-pane -t wait -e -p >"$work/now"
	if ! cmp -s "$work/now" "$work/frame-$(printf %03d "$frame")"; then
		frame=$((frame + 1))
		cp "$work/now" "$work/frame-$(printf %03d "$frame")"
	fi
	if grep -q 'REVISION: ' "$work/now"; then break; fi
	sleep 0.4
done
grep -q 'STATUS: .*deployed' "$work/now" || { echo "wait.sh: the install has not ended:" >&2; cat "$work/now" >&2; exit 1; }

# Every second screen, and the last one.
mapfile -t frames < <(ls "$work"/frame-* | awk '{ all[NR] = $0 } END { for (i = 1; i <= NR; i++) if (i % 2 == 1 || i == NR) print all[i] }')
go run -C tools/screen . -o "$out" -columns "$columns" -pause 1.2 \
	-title "helm install --wait: a table of the objects that are not ready yet, and the result" "${frames[@]}"
echo "wait.sh: $out, ${#frames[@]} screens, $(wc -c <"$out") bytes"
