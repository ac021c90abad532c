#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# sums.sh DIRECTORY: prints the checksums of what two builds of one commit must have in common: the
# archives, packages and manifests of a release. Signatures, which are made with another key, are left out.
set -eu
cd "$1"
find . -type f \( -name 'helm-v*' -o -name 'moonhelm*' -o -path './manifests/*' \) \
	! -name '*.asc' ! -name '*.sigstore.json' ! -path './images/*' | LC_ALL=C sort | xargs sha256sum
