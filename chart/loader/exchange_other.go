// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package loader

import "errors"

// exchange is not there on this system.
func exchange(_, _ string) error { return errors.ErrUnsupported }
