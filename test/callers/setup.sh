#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# setup.sh: sees to it that the tests of callers find the programs that are not Go
# modules: Ansible with kubernetes.core, zsh, fish and bash-completion.
# Installs Debian's packages where they are missing and it may; otherwise says what
# is missing, and the tests that need it are skipped. Does nothing with
# MOONHELM_NO_CALLERS set.
set -euo pipefail
[ -z "${MOONHELM_NO_CALLERS:-}" ] || exit 0

missing=()
has() { command -v "$1" >/dev/null || missing+=("$2"); }
has ansible-playbook ansible
has zsh zsh
has fish fish
[ -e /usr/share/bash-completion/bash_completion ] || missing+=(bash-completion)
[ "${#missing[@]}" -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "setup.sh: missing, so that the tests that need them are skipped: ${missing[*]} (Debian's names)" >&2
	exit 0
fi
echo "== installing ${missing[*]} for the tests of callers"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -y -q --no-install-recommends "${missing[@]}"
