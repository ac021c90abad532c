#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# prepare.sh VERSION SECONDS: makes in bin/release what packages have beside the binary, with
# the program itself: man pages of the date SECONDS and completions; the manifest of the plugin
# policy; and tools/dist.
set -eu
cd "$(dirname "$0")/../.."
out=bin/release
rm -rf "$out"
mkdir -p "$out/man" "$out/completions" "$out/policy"
export CGO_ENABLED=0
go build -C tools/dist -trimpath -o "$PWD/$out/dist" .
go build -trimpath -ldflags "-X github.com/moonhelm/moonhelm/internal/build.release=$1" -o "$out/helm" ./cmd/helm
SOURCE_DATE_EPOCH=$2 "$out/helm" docs --type man --dir "$out/man"
gzip -9 -n "$out"/man/*
for shell in bash fish zsh; do
	"$out/helm" completion "$shell" >"$out/completions/helm.$shell"
done
mv "$out/completions/helm.zsh" "$out/completions/_helm" # the name that zsh wants
sed "s/^version: .*/version: $1/" plugins/policy/plugin.yaml >"$out/policy/plugin.yaml"
echo "v$1" >"$out/helm-latest-version"
