#!/bin/sh
# secrets decrypt FILE prints it; secrets COMMAND ... runs helm with decrypted files of -f.
set -eu
decrypt() { sops decrypt --input-type yaml --output-type yaml "$1"; }
case $1 in
dec | decrypt | view)
	for file; do :; done
	decrypt "$file"
	exit
	;;
esac
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
count=$# next= n=0
while [ "$n" -lt "$count" ]; do
	arg=$1 n=$((n + 1))
	shift
	if [ -n "$next" ] && grep -q '^sops:' "$arg"; then
		decrypt "$arg" >"$dir/$n.yaml"
		arg=$dir/$n.yaml
	fi
	next=
	case $arg in -f | --values) next=1 ;; esac
	set -- "$@" "$arg"
done
"$HELM_BIN" "$@"
