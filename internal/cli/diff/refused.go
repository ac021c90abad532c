// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"errors"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/kube/apply"
)

// refuses reports whether err consists of changes of immutable fields, and the user has asked for
// a summary, which lists them among the other changes.
func (s *show) refuses(err error) bool {
	fields := map[string][]string{}
	return s.stat && addRefused(fields, err)
}

// writeRefused prints the changes that plan returns, with those that the API server has refused,
// and returns refused.
func (s *show) writeRefused(ctx context.Context, f *cmdutil.Factory, refused error,
	plan func() (*action.Change, error)) error {
	change, err := plan()
	if err != nil {
		return errors.Join(refused, err)
	}
	s.options.Refused = map[string][]string{}
	addRefused(s.options.Refused, refused)
	s.exitCode = false // the error decides
	if err := s.write(ctx, f, change, ""); err != nil {
		return err
	}
	return refused
}

// addRefused adds the immutable fields in err by object, and reports whether err consists only of
// them.
func addRefused(fields map[string][]string, err error) bool {
	switch e := err.(type) { //nolint:errorlint // it walks the tree of errors itself
	case *apply.ImmutableError:
		fields[e.Object] = append(fields[e.Object], e.Fields...)
		return true
	case interface{ Unwrap() []error }:
		all := e.Unwrap()
		only := len(all) > 0
		for _, err := range all {
			only = addRefused(fields, err) && only
		}
		return only
	case interface{ Unwrap() error }:
		return addRefused(fields, e.Unwrap())
	}
	return false
}
