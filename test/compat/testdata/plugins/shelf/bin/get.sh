#!/bin/sh
# Called with --quiet, certificate, key, authorities, URL.
set -eu
[ $# -eq 5 ] && [ "$1" = --quiet ] || { echo "called with $# arguments: $*" >&2; exit 4; }
path=${5#*://}
if [ -n "${SHELF_LOG:-}" ]; then
	echo "$5 user=$HELM_PLUGIN_USERNAME password=$HELM_PLUGIN_PASSWORD all=$HELM_PLUGIN_PASS_CREDENTIALS_ALL cert=$2 key=$3 ca=$4" >>"$SHELF_LOG"
fi
case $path in
*/index.yaml | *.tgz | *.tgz.prov | *.yaml) exec cat "$SHELF/$path" ;;
*) echo "there is no $path on the shelf" >&2; exit 7 ;;
esac
