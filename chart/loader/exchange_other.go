// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package loader

import "errors"

// exchange returns an error, because this platform cannot swap two files atomically.
func exchange(_, _ string) error { return errors.ErrUnsupported }
