// SPDX-License-Identifier: Apache-2.0

package cmdutil

// The operations that a [FailedError] names, in the words that scripts look for.
const (
	Installation = "INSTALLATION"
	Upgrading    = "UPGRADE"
)

// A FailedError is returned by commands that Helm has begin their errors with
// "INSTALLATION FAILED: " or "UPGRADE FAILED: ".
type FailedError struct {
	Operation string
	Err       error
}

// Failed returns err as a failure of an operation, nil for nil.
func Failed(operation string, err error) error {
	if err == nil {
		return nil
	}
	return &FailedError{Operation: operation, Err: err}
}

func (e *FailedError) Error() string { return e.Operation + " FAILED: " + e.Err.Error() }

func (e *FailedError) Unwrap() error { return e.Err }
