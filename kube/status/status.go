// SPDX-License-Identifier: Apache-2.0

// Package status shows objects as a cluster has them: in the server's own columns, with
// the pods of those that select pods, and what their containers have written.
//
//	reader := status.New(client) // a *kube.Client
//	rows, err := reader.Live(ctx, objects, "shop")
//
// It judges nothing; package wait says what is ready.
package status

import (
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// Reader reads objects of one cluster. It is safe for concurrent use.
type Reader struct{ api api.Client }

// New returns a reader on the connection of c.
func New(c *kube.Client) *Reader { return &Reader{api.Client{Client: c}} }
