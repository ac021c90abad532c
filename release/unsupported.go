// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// An UnsupportedError is returned for a record with a format, a status or fields that this
// version does not support, because a newer client wrote it. As its meaning is unknown, the
// record must be neither changed nor deleted.
type UnsupportedError struct {
	// Problem is the unsupported part: `has the status "paused"`.
	Problem string
}

// ErrUnsupported matches every [*UnsupportedError] in errors.Is.
var ErrUnsupported = errors.New("record of another generation")

// Is reports whether target is [ErrUnsupported].
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }

func (e *UnsupportedError) Error() string {
	return e.Problem + ", which this version of helm does not know"
}

// Supported returns an [*UnsupportedError] if this package does not support the record r,
// and nil otherwise.
func (r *Release) Supported() error { return supported(r.Name, r.Info.Status) }

// Supported is [Release.Supported] for the record that s summarizes.
func (s Summary) Supported() error { return supported(s.Name, s.Status) }

func supported(name string, status Status) error {
	switch {
	case name == "" && status == "":
		return &UnsupportedError{"has data in a format"}
	case !status.Known():
		return &UnsupportedError{fmt.Sprintf("has the status %q", string(status))}
	}
	return nil
}

// unsupportedFormat returns an [*UnsupportedError] if data is not a JSON object or has a
// field of another type, and err otherwise, such as for truncated data.
func unsupportedFormat(data []byte, err error) error {
	if text := bytes.TrimSpace(data); err != nil && len(text) > 0 && text[0] != '{' {
		return &UnsupportedError{"has data in a format"}
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return &UnsupportedError{fmt.Sprintf("has a field in a format (%s)", err)}
	}
	return err
}
