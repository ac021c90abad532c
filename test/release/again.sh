#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# again.sh: makes a release a second time, from another clone in another directory, and compares
# each file with that of dist/, of the same commit.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -d dist ] || { echo "again.sh: dist/ is not there: run make release-snapshot" >&2; exit 1; }
again=$(mktemp -d "${TMPDIR:-/tmp}/moonhelm-again.XXXXXX")
trap 'rm -rf "$again"' EXIT
commit=$(sed -n 's/.*"commit": *"\([0-9a-f]*\)".*/\1/p' dist/metadata.json)
test/release/snapshot.sh "$(sed 's/^v//' dist/helm-latest-version)" "$again/dist" "$commit"
sums=test/release/sums.sh
if ! diff <("$sums" dist) <("$sums" "$again/dist"); then
	echo "again.sh: the files above differ between two builds of one commit" >&2
	exit 1
fi
echo "again.sh: $("$sums" dist | wc -l) files, the same bytes twice"
