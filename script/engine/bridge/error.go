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
	// Keys are the same path as the keys in it, strings and int64.
	Keys []any
	// Problem continues "the value": "is a function, which is not data".
	Problem string
	// Missing is the first item that a list with a hole lacks, 0 where that is not the
	// problem; Key is the text key that a list has, "" where that is not it.
	Missing int64
	Key     string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return "the value " + e.Problem
	}
	return "the value at " + e.Path + " " + e.Problem
}

// longest is the maximum length of a path.
const longest = 200

// Below prepends a key, a string or an int64, to the path of an [*Error]; other errors stay as
// they are.
func Below(key any, err error) error {
	e, ok := err.(*Error)
	if !ok || len(e.Path) > longest {
		return err
	}
	out := *e
	out.Keys = append([]any{key}, e.Keys...)
	if name, isText := key.(string); isText {
		out.Path = step(name) + e.Path
	} else {
		out.Path = fmt.Sprintf("[%d]%s", key, e.Path)
	}
	return &out
}

// step returns a key as it is in the path of an [Error]: ".name", or ["a name"].
func step(key string) string {
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
