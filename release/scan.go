// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

var errSyntax = errors.New("not valid JSON")

// members calls fn for each member of the JSON object in data, without copying the value.
// It does not validate values: decoding a value does. So a chart that is not needed costs
// little.
func members(data []byte, fn func(key string, value json.RawMessage) error) error {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return errSyntax
	}
	i = skipSpace(data, i+1)
	if i < len(data) && data[i] == '}' {
		return nil
	}
	for {
		end, err := skipValue(data, i)
		if err != nil || data[i] != '"' {
			return errSyntax
		}
		key, err := unquote(data[i:end])
		if err != nil {
			return err
		}
		i = skipSpace(data, end)
		if i >= len(data) || data[i] != ':' {
			return errSyntax
		}
		i = skipSpace(data, i+1)
		if end, err = skipValue(data, i); err != nil {
			return err
		}
		if err := fn(key, json.RawMessage(data[i:end:end])); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if i = skipSpace(data, end); i >= len(data) {
			return errSyntax
		}
		switch data[i] {
		case '}':
			return nil
		case ',':
			i = skipSpace(data, i+1)
		default:
			return errSyntax
		}
	}
}

func unquote(text []byte) (string, error) {
	inner := text[1 : len(text)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), nil
	}
	var s string
	err := json.Unmarshal(text, &s)
	return s, err
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the end of the value that starts at i.
func skipValue(data []byte, i int) (int, error) {
	if i >= len(data) {
		return 0, errSyntax
	}
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
		return skipNested(data, i)
	}
	start := i
	for i < len(data) && bytes.IndexByte([]byte(",]}: \n\t\r\"{["), data[i]) < 0 {
		i++
	}
	if i == start {
		return 0, errSyntax
	}
	return i, nil
}

func skipString(data []byte, i int) (int, error) {
	i++
	for {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return 0, errSyntax
		}
		end, slashes := i+n, 0
		for end-slashes > i && data[end-slashes-1] == '\\' {
			slashes++
		}
		if i = end + 1; slashes%2 == 0 {
			return i, nil
		}
	}
}

func skipNested(data []byte, i int) (int, error) {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, nil
			}
		case '"':
			end, err := skipString(data, i)
			if err != nil {
				return 0, err
			}
			i = end
			continue
		}
		i++
	}
	return 0, errSyntax
}
