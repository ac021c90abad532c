// SPDX-License-Identifier: Apache-2.0

// Package wait waits until objects of a cluster are ready, have finished or are gone, and
// says why where that does not come about.
//
//	waiter := wait.New(client, wait.Grace{}) // a *kube.Client
//	err := waiter.Await(ctx, wait.Request{Objects: objects, Namespace: "shop"})
//
// What is certain to fail ends a wait at once, with a [*FailedError]; the context bounds
// all others, with a [*PendingError]. The package changes nothing in the cluster.
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

// New returns a waiter on the connection of c. On one of [kube.Client.DryRun] it waits for
// nothing, because nothing will come.
func New(c *kube.Client, g Grace) *Waiter { return &Waiter{api.Client{Client: c}, g} }

// impatient returns a waiter on the same connection that does not wait for trouble to
// pass.
func (c *Waiter) impatient() *Waiter { return New(c.api.WithoutRetry(), c.grace) }
