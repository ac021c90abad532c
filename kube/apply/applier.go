// SPDX-License-Identifier: Apache-2.0

// Package apply changes the objects of a cluster: it plans what it takes to make them what
// a release says, executes that, deletes objects, installs definitions and runs hooks.
//
//	applier := apply.New(client, apply.Options{}) // a *kube.Client
//	p, err := applier.Plan(ctx, apply.Request{
//		Owner: kube.Owner{Release: "web", Namespace: "shop"},
//		New:   objects, // of manifest.Parse
//	})
//	...
//	err = applier.Execute(ctx, p, p.Steps)
//
// It decides nothing about releases and keeps no records. Waiting for what it has changed
// is package wait's; only definitions are awaited here, because what comes after them needs
// their kinds.
package apply

import (
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/wait"
)

// Options say how an [Applier] validates objects. The zero value validates all.
type Options struct {
	// FieldValidation is "" for [FieldValidationStrict].
	FieldValidation FieldValidation
	// NoSchemaValidation leaves it to the server to find out what is wrong with objects.
	NoSchemaValidation bool
}

// Applier changes objects of one cluster. It is safe for concurrent use.
type Applier struct {
	api     api.Client
	wait    *wait.Waiter
	options Options
	schemas *schemas
}

// New returns an applier on the connection of c. On one of [kube.Client.DryRun] the server
// checks and admits what is written, and keeps nothing.
func New(c *kube.Client, o Options) *Applier {
	return (&Applier{options: o, schemas: &schemas{}}).On(c)
}

// On returns an applier like c on another client of the same cluster. Both share what is
// known of the schemas of kinds, which takes megabytes to read.
func (c *Applier) On(client *kube.Client) *Applier {
	b := *c
	b.api, b.wait = api.Client{Client: client}, wait.New(client, wait.Grace{})
	return &b
}
