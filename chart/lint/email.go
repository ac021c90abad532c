// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"unicode"
)

// validEmail reports whether text is an email address: a local part, "@", and a domain name
// with a top-level domain of letters. As in Helm, quoted local parts and IP addresses are
// not valid.
func validEmail(text string) bool {
	local, domain, ok := strings.Cut(text, "@")
	if !ok || len(text) > 320 {
		return false
	}
	for part := range strings.SplitSeq(local, ".") {
		if part == "" || strings.IndexFunc(part, func(r rune) bool { return !localRune(r) }) >= 0 {
			return false
		}
	}
	labels := strings.Split(strings.TrimSuffix(domain, "."), ".")
	if len(labels) < 2 {
		return false
	}
	for _, l := range labels {
		if !validLabel(l) {
			return false
		}
	}
	top := []rune(labels[len(labels)-1])
	return isLetter(top[0]) && isLetter(top[len(top)-1])
}

func localRune(r rune) bool {
	return isLetter(r) || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+/=?^_`{|}~-", r)
}

func validLabel(l string) bool {
	runes := []rune(l)
	if len(runes) == 0 {
		return false
	}
	for i, r := range runes {
		switch {
		case isLetter(r), '0' <= r && r <= '9':
		case (r == '-' || r == '_' || r == '~') && i > 0 && i < len(runes)-1:
		default:
			return false
		}
	}
	return true
}

func isLetter(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= 0xA0 && r != unicode.ReplacementChar
}
