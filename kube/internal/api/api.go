// SPDX-License-Identifier: Apache-2.0

// Package api has what the packages that wait for, change and show objects share: objects
// with their place in the API, read as they are in the cluster, and their parts.
//
//	c := api.Client{Client: client} // a *kube.Client
//	targets, err := c.Targets(ctx, objects, "shop")
//	live, err := c.ReadMetadata(ctx, targets)
//
// It is no API of the product: what programs use stands in kube/wait, kube/apply and
// kube/status.
package api

import "github.com/moonhelm/moonhelm/kube"

// Client reads objects over the connection of a client.
type Client struct{ *kube.Client }
