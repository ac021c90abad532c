// SPDX-License-Identifier: Apache-2.0

// Package status reads the state of objects for display: the server's table columns, the
// pods of workloads, and the logs of their containers.
//
//	reader := status.New(client) // a *kube.Client
//	rows, err := reader.Live(ctx, objects, "shop")
//
// Package wait determines whether objects are ready.
package status

import (
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// Reader reads objects of one cluster. It is safe for concurrent use.
type Reader struct{ api api.Client }

// New returns a reader that uses c.
func New(c *kube.Client) *Reader { return &Reader{api.Client{Client: c}} }
