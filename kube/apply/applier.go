// SPDX-License-Identifier: Apache-2.0

// Package apply changes the objects of a cluster: it computes and executes the plan of a
// release, deletes objects, installs CRDs, and creates and deletes the objects of hooks.
//
//	applier := apply.New(client, apply.Options{}) // a *kube.Client
//	p, err := applier.Plan(ctx, apply.Request{
//		Owner: kube.Owner{Release: "web", Namespace: "shop"},
//		New:   objects, // of manifest.Parse
//	})
//	...
//	err = applier.Execute(ctx, p, p.Steps)
//
// It has no notion of revisions and stores no records. Package wait waits for the changed
// objects; only CRDs are waited for here, because the objects that follow need their kinds.
package apply

import (
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/wait"
)

// Options configures the validation of an [Applier]. The zero value validates everything.
type Options struct {
	// FieldValidation is the treatment of unknown fields; if empty, [FieldValidationStrict].
	FieldValidation FieldValidation
	// NoSchemaValidation disables validation on the client's side; the server still validates.
	NoSchemaValidation bool
}

// An Applier changes objects of one cluster. It is safe for concurrent use. The error of a request
// about one object is a [*kube.ObjectError]; other requests return the errors of
// [kube.Client.Call].
type Applier struct {
	api     api.Client
	wait    *wait.Waiter
	options Options
	schemas *schemas
}

// New returns an applier that uses c. If c is a client of [kube.Client.DryRun], all writes are
// dry runs.
func New(c *kube.Client, o Options) *Applier {
	return (&Applier{options: o, schemas: &schemas{}}).WithClient(c)
}

// WithClient returns an applier with the same options that uses client, which must be of the same
// cluster. Both share the cached OpenAPI documents, which are megabytes.
func (c *Applier) WithClient(client *kube.Client) *Applier {
	b := *c
	b.api, b.wait = api.Client{Client: client}, wait.New(client, wait.Grace{})
	return &b
}
