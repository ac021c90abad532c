#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# gnupg.sh: sees to it that the tests of provenance find GnuPG, with which they
# make keys and check signatures. Installs Debian's package where it is missing;
# does nothing with MOONHELM_NO_GNUPG set, which lets these tests be skipped.
set -euo pipefail
found() { command -v gpg >/dev/null && command -v gpg-agent >/dev/null && command -v gpgconf >/dev/null; }

[ -z "${MOONHELM_NO_GNUPG:-}" ] || exit 0
! found || exit 0
fail() {
	echo "gnupg.sh: GnuPG is missing: install it (Debian: apt-get install gnupg)," >&2
	echo "or set MOONHELM_NO_GNUPG=1 to go without its tests" >&2
	exit 1
}
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || fail

echo "== installing GnuPG for the tests of provenance"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -y -q --no-install-recommends gnupg gpg-agent
found || fail
