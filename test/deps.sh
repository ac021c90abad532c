#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# deps.sh [callers|site|release|systems]: installs the programs that tests need and Go does
# not bring, as Debian's packages: PostgreSQL for the sql driver, GnuPG for provenance,
# curl, wget and dash for the installer, Neovim for helm lsp; with a name those of make callers, site-tests,
# release-check or systems. Where it may not install (it needs root and apt-get) it says
# what is missing and fails. Tests whose programs are missing are
# skipped and say so; with MOONHELM_REQUIRE_DEPS set, as in CI, they fail.
set -euo pipefail

missing=()
has() { command -v "$1" >/dev/null || missing+=("$2"); }
if [ "${1:-}" = release ]; then
	has gpg gnupg
	has rpm2cpio rpm2cpio
	has cpio cpio
	has dpkg dpkg
	has debootstrap debootstrap
elif [ "${1:-}" = systems ]; then
	has qemu-aarch64 qemu-user
elif [ "${1:-}" = callers ]; then
	has ansible-playbook ansible
	has zsh zsh
	has fish fish
	[ -e /usr/share/bash-completion/bash_completion ] || missing+=(bash-completion)
elif [ "${1:-}" = site ]; then
	command -v google-chrome >/dev/null || has chromium chromium
	[ -n "$(compgen -G '/usr/share/fonts/*/*')" ] || missing+=(fonts-dejavu-core)
else
	compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || has initdb postgresql
	has gpg gnupg
	has gpgconf gnupg
	has gpg-agent gpg-agent
	# The installer's tests: get-moonhelm with each of these.
	has curl curl
	has wget wget
	has dash dash
	has nvim neovim
fi
if [ "${#missing[@]}" = 0 ]; then
	echo "deps.sh: everything is there"
	exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "deps.sh: missing, by the names of Debian's packages: ${missing[*]}" >&2
	exit 1
fi

echo "== installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# PostgreSQL's package would start a server of its own, which the tests do not need.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod +x "$policy"
	trap 'rm -f "$policy"' EXIT
fi
apt-get update -q
apt-get install -y -q --no-install-recommends "${missing[@]}"
