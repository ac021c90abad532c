// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestChainSaysNothingTwice(t *testing.T) {
	hidden := fmt.Errorf("read the record: %w", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist})
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"one": {errors.New("no"), "*errors.errorString\n"},
		"wrapped": {fmt.Errorf("install: %w", errors.New("no\n  1 | x")),
			"*fmt.wrapError\n  *errors.errorString\n"},
		"not in the message": {&opaqueError{hidden}, "*cli.opaqueError\n  *fmt.wrapError: read the record: open x: file does " +
			"not exist\n    *fs.PathError: open x: file does not exist\n      *errors.errorString: file does not exist\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := chain(tc.err, "Error: "+indented(tc.err.Error())+"\n"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// opaqueError does not have the text of its cause.
type opaqueError struct{ cause error }

func (e *opaqueError) Error() string { return "it failed" }

func (e *opaqueError) Unwrap() error { return e.cause }
