#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# commands.sh HELM DIR: has the program HELM write the reference of its commands into DIR, as pages
# of the site: a heading of the first level, and sections of the second.
set -euo pipefail
mkdir -p "$2"
"$1" docs --type markdown --dir "$2"
for page in "$2"/*.md; do
	awk '/^```/ { code = !code }
		!code && /^##+ / && !top { top = match($0, / /) - 2 }
		!code && /^##+ / { $0 = substr($0, top + 1) }
		{ print }' "$page" >"$page.new"
	mv "$page.new" "$page"
done
cat >"$2/_index.md" <<'PAGE'
---
title: Commands
summaries: true
---

# Commands

Look up what a command does and what its flags are. The pages are written by the program itself:
`helm COMMAND --help` prints the same in a terminal.
PAGE
