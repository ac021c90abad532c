#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# snapshot.sh [VERSION]: makes all files of a release in dist/ and publishes nothing. It is signed
# with a key that is made for it and thrown away; its public half is dist/KEYS. Without gpg
# nothing is signed.
set -euo pipefail
cd "$(dirname "$0")/../.."
# Without a version: the one that the program says of itself.
RELEASE=${1:-$(sed -n 's/^\trelease *= "\(.*\)"$/\1/p' internal/build/build.go)}
export RELEASE
skip=()
if command -v gpg >/dev/null; then
	GNUPGHOME=$(mktemp -d /tmp/moonhelm-key.XXXXXX) # short: a socket is made in it
	export GNUPGHOME
	trap 'gpgconf --kill all 2>/dev/null || true; rm -rf "$GNUPGHOME"' EXIT
	gpg --batch --quiet --passphrase '' --quick-generate-key 'Moonhelm snapshot <snapshot@example.com>' ed25519 sign 1d
	GPG_FINGERPRINT=$(gpg --batch --with-colons --list-secret-keys | awk -F: '$1 == "fpr" { print $10; exit }')
	export GPG_FINGERPRINT
else
	echo "snapshot.sh: gpg is not installed: nothing is signed" >&2
	skip=(--skip=sign)
fi
bin/goreleaser release --snapshot --clean "${skip[@]}"
bin/release/dist manifests dist
cp bin/release/helm-latest-version dist/
[ "${#skip[@]}" != 0 ] || gpg --batch --armor --export "$GPG_FINGERPRINT" >dist/KEYS
