// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"fmt"

	"github.com/moonhelm/moonhelm/script/wire"
)

// An Error is returned for a value that cannot be converted.
type Error struct {
	// Path is its path as a script writes it, ".image.tags[2]"; "" is the value itself.
	Path string
	// Problem continues "the value": "is a function, which is not data".
	Problem string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return "the value " + e.Problem
	}
	return "the value at " + e.Path + " " + e.Problem
}

// longest is the maximum length of a path.
const longest = 200

// below prepends a step to an error's path.
func below(step string, err error) error {
	e, ok := err.(*Error)
	if !ok || len(e.Path) > longest {
		return err
	}
	return &Error{Path: step + e.Path, Problem: e.Problem}
}

// Step returns a key as it is in the path of an [Error]: ".name", or ["a name"].
func Step(key string) string {
	if len(key) > longest {
		key = key[:longest]
	}
	plain := key != ""
	for i, c := range []byte(key) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		plain = plain && (letter || i > 0 && c >= '0' && c <= '9')
	}
	if plain {
		return "." + key
	}
	return fmt.Sprintf("[%q]", key)
}

func tooDeep() error {
	return &Error{Problem: fmt.Sprintf("nests deeper than %d levels", wire.MaxDepth)}
}
