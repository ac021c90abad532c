#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# snapshot.sh VERSION DIRECTORY [COMMIT]: makes all files of a release from the last commit, or
# another, in a clone that is thrown away, and publishes nothing. VERSION may be empty: then it is the one that the
# program says of itself. It is signed with a key that is made for it and thrown away; its public
# half is DIRECTORY/KEYS. Without gpg nothing is signed.
set -euo pipefail
cd "$(dirname "$0")/../.."
RELEASE=${1:-$(sed -n 's/^\trelease *= "\(.*\)"$/\1/p' internal/build/build.go)}
export RELEASE
out=$2
[ -z "$(git status --porcelain)" ] || echo "snapshot.sh: what is not committed is left out" >&2

work=$(mktemp -d /tmp/moonhelm-release.XXXXXX) # short: gpg makes a socket in it
trap 'GNUPGHOME=$work/key gpgconf --kill all 2>/dev/null || true; rm -rf "$work"' EXIT
git clone -q . "$work/clone"
# goreleaser takes nothing from it, but reads no commit without an address.
git -C "$work/clone" checkout -q --detach "${3:-HEAD}"
git -C "$work/clone" remote set-url origin https://github.com/moonhelm/moonhelm.git
mkdir "$work/clone/bin"
cp bin/goreleaser "$work/clone/bin/"

skip=()
if command -v gpg >/dev/null; then
	export GNUPGHOME=$work/key
	mkdir -m 700 "$GNUPGHOME"
	gpg --batch --quiet --passphrase '' --quick-generate-key 'Moonhelm snapshot <snapshot@example.com>' ed25519 sign 1d
	GPG_FINGERPRINT=$(gpg --batch --with-colons --list-secret-keys | awk -F: '$1 == "fpr" { print $10; exit }')
	export GPG_FINGERPRINT
else
	echo "snapshot.sh: gpg is not installed: nothing is signed" >&2
	skip=(--skip=sign)
fi
(
	cd "$work/clone"
	bin/goreleaser release --snapshot --clean "${skip[@]}"
	bin/release/dist manifests dist
	cp bin/release/helm-latest-version dist/
	[ "${#skip[@]}" != 0 ] || gpg --batch --armor --export "$GPG_FINGERPRINT" >dist/KEYS
)
rm -rf "$out"
mv "$work/clone/dist" "$out"
