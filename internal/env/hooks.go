// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"

	"github.com/moonhelm/moonhelm/hook"
	"github.com/moonhelm/moonhelm/manifest"
)

// Logs implements hook.Runner.
func (c *Cluster) Logs(ctx context.Context, o *manifest.Object, namespace string) ([]hook.Log, error) {
	logs, err := c.client.Logs(ctx, o, namespace)
	out := make([]hook.Log, len(logs))
	for i, l := range logs {
		out[i] = hook.Log{Pod: l.Pod, Container: l.Container, Text: l.Text, Truncated: l.Truncated}
	}
	return out, err
}
