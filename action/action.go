// SPDX-License-Identifier: Apache-2.0

// Package action implements the operations of helm, one file each: install, upgrade,
// rollback, uninstall, test, template, diff, lint, list, status and others.
//
// A [Config] holds the connections and settings for operations on the releases of one
// namespace. An operation is a struct that has a Config and a Run method that takes a
// request. Many also have a Plan method, which returns what Run would change:
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
// Scripts of charts run only if Config.Scripts is set. Config.Events holds the caller's
// event handlers (see package event).
//
// Operations keep no state between runs. Goroutines may share a Config; the release lock
// serializes their changes to one release. An operation returns soon after its context
// ends, and leaves a record of the release's state.
package action

import (
	"context"

	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// A Describer gives templates access to a cluster.
type Describer interface {
	// Capabilities returns the server's version and the kinds that it serves.
	Capabilities(ctx context.Context) (*engine.Capabilities, error)
	// Lookup reads one object, or a list if name is empty. It returns an empty map if
	// the object does not exist.
	Lookup(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error)
}

// Storage reads and writes release records. [*storage.Storage] implements it and
// documents the methods.
type Storage interface {
	Get(ctx context.Context, name string, revision int) (*release.Release, error)
	Revisions(ctx context.Context, name string) ([]storage.Record, error)
	Create(ctx context.Context, r *release.Release) error
	Update(ctx context.Context, r *release.Release) error
	Delete(ctx context.Context, name string, revision int, version string) error
	Prune(ctx context.Context, name string, most int, keep func(storage.Record) bool) error
	Resource() string
	// Namespace returns the namespace whose releases are recorded, or "" for all.
	Namespace() string
	Lister
	HistoryReader
	lock.Records
}

var _ Storage = (*storage.Storage)(nil)

// recordPermissions returns the permissions to use verbs on the records of a namespace, or
// nil if s is nil or keeps its records outside the cluster.
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
