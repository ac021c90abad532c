#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# postgres.sh: sees to it that the tests of the sql driver find PostgreSQL's
# programs, which they start themselves (internal/storagetest/postgres). Installs
# Debian's package where they are missing; does nothing with MOONHELM_NO_POSTGRES
# set, which lets the tests be skipped.
set -euo pipefail
found() { compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null; }

[ -z "${MOONHELM_NO_POSTGRES:-}" ] || exit 0
! found || exit 0
fail() {
	echo "postgres.sh: PostgreSQL is missing: install its server (Debian: apt-get install postgresql)," >&2
	echo "or set MOONHELM_NO_POSTGRES=1 to go without the tests of the sql driver" >&2
	exit 1
}
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || fail

echo "== installing PostgreSQL for the tests of the sql driver"
export DEBIAN_FRONTEND=noninteractive
# The package would start a server of its own, which nobody needs.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod +x "$policy"
	trap 'rm -f "$policy"' EXIT
fi
apt-get update -q
apt-get install -y -q --no-install-recommends postgresql
found || fail
