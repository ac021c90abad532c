// SPDX-License-Identifier: Apache-2.0

package cli

import "strings"

// redactPasswords replaces passwords in the URLs of text with xxxxx. Errors about URLs contain
// none; errors that quote an argument may, because someone passed a URL as a path, a host or a
// name.
func redactPasswords(text string) string {
	var b strings.Builder
	for {
		at := strings.Index(text, ":/")
		if at < 0 {
			b.WriteString(text)
			return b.String()
		}
		for at++; at < len(text) && text[at] == '/'; at++ { // a path has one slash
		}
		b.WriteString(text[:at])
		text = text[at:]
		authority := text
		if end := strings.IndexAny(text, "/?# \t\n\"'`"); end >= 0 {
			authority = text[:end]
		}
		user, _, secret := strings.Cut(authority, ":")
		if host := strings.LastIndexByte(authority, '@'); secret && host > len(user) {
			b.WriteString(user + ":xxxxx")
			text = text[host:]
		}
	}
}
