// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"

	"github.com/moonhelm/moonhelm/hook"
	"github.com/moonhelm/moonhelm/manifest"
)

// Logs implements hook.Runner.
func (c *Cluster) Logs(ctx context.Context, o *manifest.Object, namespace string) ([]hook.Log, error) {
	return nil, nil
}
