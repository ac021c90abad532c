// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// splitTop splits body at the semicolons outside of brackets and quotes. If these do not
// match, as in a pattern, it splits at every semicolon.
func splitTop(body string) []string {
	var parts []string
	depth, start, quote := 0, 0, byte(0)
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quote != 0 && c == '\\' && quote == '"':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"':
			quote = c
		case c == '[' || c == '{' || c == '(':
			depth++
		case c == ']' || c == '}' || c == ')':
			depth--
		case c == ';' && depth == 0:
			parts, start = append(parts, body[start:i]), i+1
		}
	}
	if depth != 0 || quote != 0 {
		return strings.Split(body, ";")
	}
	return append(parts, body[start:])
}

// unquote returns s without its quotes, if it is a quoted YAML string.
func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		var v string
		if yaml.UnmarshalV3([]byte(s), &v) == nil {
			return v
		}
	}
	return s
}
