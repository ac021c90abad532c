// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// An UnsupportedError is returned for a record that a client of another generation has
// written: in a format, with a status or with fields whose meaning is not known here.
// What such a record stands for cannot be told, so it is neither changed nor deleted.
type UnsupportedError struct {
	// Problem is what is unknown: `has the status "paused"`.
	Problem string
}

// ErrUnsupported is what every [*UnsupportedError] is, for errors.Is.
var ErrUnsupported = errors.New("record of another generation")

// Is makes the error an [ErrUnsupported].
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }

func (e *UnsupportedError) Error() string {
	return e.Problem + ", which this version of helm does not know"
}

// Supported returns an [*UnsupportedError] where the record r is not one of the
// generation that this package reads and writes, and nil otherwise.
func (r *Release) Supported() error { return supported(r.Name, r.Info.Status) }

// Supported is the method of that name of the release that s is the summary of.
func (s Summary) Supported() error { return supported(s.Name, s.Status) }

func supported(name string, status Status) error {
	switch {
	case name == "" && status == "":
		return &UnsupportedError{"holds a release in a form"}
	case !status.Known():
		return &UnsupportedError{fmt.Sprintf("has the status %q", string(status))}
	}
	return nil
}

// foreign makes an [*UnsupportedError] of what a record holds in the place of JSON,
// and of a field of another type; a text that is only broken stays what it is.
func foreign(data []byte, err error) error {
	var other *json.UnmarshalTypeError
	if text := bytes.TrimSpace(data); err != nil && len(text) > 0 && text[0] != '{' {
		return &UnsupportedError{"holds a release in a form"}
	}
	if errors.As(err, &other) {
		return &UnsupportedError{fmt.Sprintf("has a field in a form (%s)", err)}
	}
	return err
}
