#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# provenance.sh ARCHIVE FILE: writes the provenance file of a plugin's archive, signed with the key
# GPG_FINGERPRINT.
set -eu
text=$(bin/release/dist provenance "$1")
printf '%s\n' "$text" |
	gpg --batch --yes --armor --local-user "$GPG_FINGERPRINT" --output "$2" --clear-sign
