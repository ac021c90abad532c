// SPDX-License-Identifier: Apache-2.0

// Package action holds the verbs of helm, one file each: install, upgrade, rollback,
// uninstall, test, template, diff, lint, list, status and their kin.
//
// A [Config] holds what operations on the releases of a namespace need. A verb is a
// struct around one, with a Run method that takes a request saying what is wanted, and
// often a Plan method that returns what Run would do:
//
//	config, err := action.NewConfig(action.KubeSettings{Namespace: "shop"})
//	...
//	c, err := loader.Load("./web")
//	...
//	rel, err := action.Install{Config: config}.Run(ctx, action.InstallRequest{
//		Chart: c, Name: "web", Namespace: "shop", Values: map[string]any{"replicas": 2},
//	})
//
// The order of the steps of an install, an upgrade and a rollback is in deploy.go.
// Scripts of charts run only where Config.Scripts says how, and handlers of the caller
// where Config.Events has some (see package event).
//
// Nothing is kept between runs. A Config may be shared by goroutines; what several of
// them do to one release is kept apart by its lock. An operation ends soon after its
// context, and leaves a record that says how far it came.
package action

import (
	"context"

	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// Describer says what a cluster is and what it has, for templates.
type Describer interface {
	// Capabilities are the server's version and the kinds it serves.
	Capabilities(ctx context.Context) (*engine.Capabilities, error)
	// Lookup reads one object, or a list where name is empty; an object that
	// is not there is an empty map.
	Lookup(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error)
}

// Storage is what operations need of release records. [*storage.Storage] is one, whose
// methods say what they do.
type Storage interface {
	Get(ctx context.Context, name string, revision int) (*release.Release, error)
	Revisions(ctx context.Context, name string) ([]storage.Record, error)
	Create(ctx context.Context, r *release.Release) error
	Update(ctx context.Context, r *release.Release) error
	Delete(ctx context.Context, name string, revision int, version string) error
	Prune(ctx context.Context, name string, most int, keep func(storage.Record) bool) error
	Resource() string
	// Namespace is the one whose releases are recorded, "" for all.
	Namespace() string
	Lister
	HistoryReader
	lock.Records
}

var _ Storage = (*storage.Storage)(nil)

// recordRights are the permissions to do what verbs say to the records of a namespace,
// none where s is nil or keeps them outside the cluster.
func recordPermissions(s Storage, namespace string, verbs ...string) []apply.Permission {
	if s == nil || s.Resource() == "" {
		return nil
	}
	var out []apply.Permission
	for _, verb := range verbs {
		out = append(out, apply.Permission{Verb: verb, Resource: s.Resource(), Namespace: namespace})
	}
	return out
}
