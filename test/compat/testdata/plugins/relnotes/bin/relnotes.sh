#!/bin/sh
set -eu
command=${1:-help}
[ $# -eq 0 ] || shift
case $command in
show)
	raw=
	for arg in "$@"; do
		case $arg in
		-r | --raw) raw=yes ;;
		-*) echo "unknown flag $arg" >&2; exit 2 ;;
		*) chart=$arg ;;
		esac
	done
	name=$("$HELM_BIN" show chart "$chart" | sed -n 's/^name: //p')
	[ -n "$raw" ] || echo "What is new in $name (namespace $HELM_NAMESPACE):"
	cat "$chart/NEWS"
	;;
env) env | grep -E '^(HELM_|KUBECONFIG=)' | grep -v '^HELM_BIN=' | sort ;;
args) for arg in "$@"; do echo "[$arg]"; done ;;
cat) cat; echo "and to the error stream" >&2 ;;
exit) exit "$1" ;;
*) echo "usage: helm relnotes show|env|args|cat|exit" ;;
esac
