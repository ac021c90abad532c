// SPDX-License-Identifier: Apache-2.0

// Package wait waits until objects of a cluster are ready, have finished or are deleted, and
// returns a diagnosis if that fails.
//
//	waiter := wait.New(client, wait.Grace{}) // a *kube.Client
//	err := waiter.Await(ctx, wait.Request{Objects: objects, Namespace: "shop"})
//
// If it is certain that an object will fail, the wait ends at once with a [*FailedError]. If
// the context ends before, the error is a [*PendingError]. The package does not change
// objects.
package wait

import (
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// Waiter waits for objects of one cluster. It is safe for concurrent use.
type Waiter struct {
	api   api.Client
	grace Grace
}

// New returns a waiter that uses c. If c is a client of [kube.Client.DryRun], it does not wait.
func New(c *kube.Client, g Grace) *Waiter { return &Waiter{api.Client{Client: c}, g} }

// withoutRetry returns a waiter whose client does not retry requests.
func (c *Waiter) withoutRetry() *Waiter { return New(c.api.WithoutRetry(), c.grace) }
