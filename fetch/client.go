// SPDX-License-Identifier: Apache-2.0

package fetch

import "github.com/moonhelm/moonhelm/progress"

// Client speaks HTTP. The zero value is ready. It is safe for concurrent use.
type Client struct {
	UserAgent string
	Progress  progress.Func
}
