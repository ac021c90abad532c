// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"
)

// nameProblem returns why an object's name is not valid, or "" if it is. The rules are those
// of the Kubernetes API ("Object Names and IDs"); unknown kinds, such as custom resources,
// have the rule for DNS subdomains.
func nameProblem(kind, name string) string {
	switch strings.ToLower(kind) {
	case "certificatesigningrequest":
		return ""
	case "role", "clusterrole", "rolebinding", "clusterrolebinding":
		return segmentProblem(name)
	case "service":
		if len(name) > 63 {
			return "must be no more than 63 characters"
		}
		if !isDNSLabel(name) || name[0] < 'a' {
			return "must consist of lower case letters, digits or '-', start with a letter, and end with a letter or digit " +
				"(such as my-name or abc-123)"
		}
		return ""
	case "namespace":
		switch {
		case strings.Contains(name, "."):
			return "must not contain dots"
		case len(name) > 63:
			return "must be no more than 63 characters"
		}
	}
	if len(name) > 253 {
		return "must be no more than 253 characters"
	}
	for part := range strings.SplitSeq(name, ".") {
		if !isDNSLabel(part) {
			if name == "" {
				return "it is empty"
			}
			return "must consist of lower case letters, digits, '-' or '.', and start and end with a letter or digit (such as " +
				"my-name or example.com)"
		}
	}
	return ""
}

func segmentProblem(name string) string {
	if name == "." || name == ".." {
		return fmt.Sprintf("may not be '%s'", name)
	}
	for _, c := range []string{"/", "%"} {
		if strings.Contains(name, c) {
			return fmt.Sprintf("may not contain '%s'", c)
		}
	}
	return ""
}

// isDNSLabel reports whether text has only lower case letters, digits and inner dashes.
func isDNSLabel(text string) bool {
	for i := range len(text) {
		c := text[i]
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' && i > 0 && i < len(text)-1 {
			continue
		}
		return false
	}
	return text != ""
}
