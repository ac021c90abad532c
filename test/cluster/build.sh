#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds bin/cluster, the local Kubernetes control plane. Needs Go, gcc and the
# Go module proxy; the first build compiles Kubernetes and takes minutes. Does
# nothing when the binary is newer than everything that it is made of.
#
# BUILD_FLAGS may hold further flags for go build, e.g. "-p 1".
set -eu
cd "$(dirname "$0")"
out=../../bin/cluster
version=1.36.3 # of Kubernetes; the same as in go.mod

if [ -x "$out" ] && [ -z "$(find . \( -name '*.go' -o -name 'go.*' -o -name build.sh \) -newer "$out" -print)" ]; then
	echo "bin/cluster is up to date"
	exit 0
fi

echo "building bin/cluster (Kubernetes v$version; the first build takes several minutes)"
mkdir -p ../../bin
start=$(date +%s)
(
	trap 'exit 0' TERM
	while :; do
		sleep 15 & wait $!
		echo "... still building bin/cluster, $(($(date +%s) - start)) s"
	done
) &
ticker=$!
trap 'kill $ticker 2>/dev/null || :' EXIT

pkg=k8s.io/component-base/version
minor=${version#*.}
# shellcheck disable=SC2086
go build ${BUILD_FLAGS:-} -o "$out.new" -ldflags "-s -w \
	-X $pkg.gitVersion=v$version -X $pkg.gitMajor=${version%%.*} -X $pkg.gitMinor=${minor%%.*} \
	-X $pkg.gitCommit= -X $pkg.gitTreeState=clean" .
mv "$out.new" "$out"
echo "built bin/cluster in $(($(date +%s) - start)) s"
