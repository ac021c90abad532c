// SPDX-License-Identifier: Apache-2.0

package cmdutil

// The operations of a [FailedError], as scripts search for them.
const (
	Installation = "INSTALLATION"
	Upgrading    = "UPGRADE"
)

// A FailedError is returned by commands whose errors begin with "INSTALLATION FAILED: " or "UPGRADE
// FAILED: ", as in Helm.
type FailedError struct {
	Operation string
	Err       error
}

// Failed wraps err as a failure of operation. It returns nil if err is nil.
func Failed(operation string, err error) error {
	if err == nil {
		return nil
	}
	return &FailedError{Operation: operation, Err: err}
}

func (e *FailedError) Error() string { return e.Operation + " FAILED: " + e.Err.Error() }

func (e *FailedError) Unwrap() error { return e.Err }
