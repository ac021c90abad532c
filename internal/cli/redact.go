// SPDX-License-Identifier: Apache-2.0

package cli

import "strings"

// withoutPasswords is text with xxxxx for the passwords in its URLs. Errors of
// URLs hold none; this is for those that repeat what was typed, because another person
// took a URL for a path, a host or a name.
func withoutPasswords(text string) string {
	var b strings.Builder
	for {
		at := strings.Index(text, ":/")
		if at < 0 {
			b.WriteString(text)
			return b.String()
		}
		for at++; at < len(text) && text[at] == '/'; at++ { // a path has one slash left of them
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
