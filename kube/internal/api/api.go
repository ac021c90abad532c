// SPDX-License-Identifier: Apache-2.0

// Package api is shared by the packages that wait for, change and show objects: it maps
// objects to API resources, reads their live state, and decodes their fields.
//
//	c := api.Client{Client: client} // a *kube.Client
//	targets, err := c.Targets(ctx, objects, "shop")
//	live, err := c.ReadMetadata(ctx, targets)
//
// Programs use kube/wait, kube/apply and kube/status instead.
package api

import "github.com/moonhelm/moonhelm/kube"

// Client reads objects with a [kube.Client].
type Client struct{ *kube.Client }
