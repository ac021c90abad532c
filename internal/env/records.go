// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// Records are the release records of a namespace, as package op calls them.
type Records struct {
	store     *storage.Store
	namespace string
}

// Records opens the release records of a namespace, "" for lists over all of
// them, with the driver that HELM_DRIVER names.
func (e *Env) Records(namespace string) (*Records, error) {
	driver, err := e.driver(namespace)
	if err != nil {
		return nil, err
	}
	return &Records{store: storage.New(driver, namespace), namespace: namespace}, nil
}

func (e *Env) driver(namespace string) (storage.Driver, error) {
	name := e.Settings.Driver
	switch name {
	case "memory":
		return storage.NewMemory(namespace), nil
	case "sql":
		db, err := storage.PostgreSQL(e.Getenv("HELM_DRIVER_SQL_CONNECTION_STRING"), namespace)
		if err != nil {
			return nil, err
		}
		e.closers = append(e.closers, func() error { db.Close(); return nil })
		return db, nil
	case "", "secret", "secrets", "configmap", "configmaps":
	default:
		return nil, fmt.Errorf("unknown driver %q: HELM_DRIVER must be secret, configmap, sql or memory", name)
	}
	cluster, err := e.Cluster()
	if err != nil {
		return nil, err
	}
	if name == "configmap" || name == "configmaps" {
		return storage.ConfigMaps(cluster.client, namespace), nil
	}
	return storage.Secrets(cluster.client, namespace), nil
}

// translate turns a store's errors into those that op knows.
func (r *Records) translate(err error) error {
	var missing *storage.NotFoundError
	var other *release.UnsupportedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &other):
		return &unsupportedError{err}
	case errors.As(err, &missing):
		return &action.NotFoundError{Name: missing.Name, Namespace: r.namespace, Revision: missing.Revision}
	case errors.Is(err, storage.ErrExists):
		return fmt.Errorf("%w: %w", action.ErrRevisionExists, err)
	case errors.Is(err, storage.ErrChanged):
		return &changedError{err}
	}
	return err
}

// changedError is a store's error in its own words, which op knows as its own.
type changedError struct{ error }

func (e *changedError) Unwrap() error { return e.error }

// Is makes the error an [action.ErrRecordChanged].
func (e *changedError) Is(target error) bool { return target == action.ErrRecordChanged }

// unsupportedError is a store's error in its own words, which op knows as its own.
type unsupportedError struct{ error }

func (e *unsupportedError) Unwrap() error { return e.error }

// Is makes the error an [action.ErrRecordUnsupported].
func (e *unsupportedError) Is(target error) bool { return target == action.ErrRecordUnsupported }

// Revision implements action.Records.
func (r *Records) Revision(ctx context.Context, name string, revision int) (*release.Release, error) {
	var rel *release.Release
	var err error
	if revision > 0 {
		rel, err = r.store.Get(ctx, name, revision)
	} else {
		rel, err = r.store.Last(ctx, name)
	}
	return rel, r.translate(err)
}

// Create implements action.Recorder.
func (r *Records) Create(ctx context.Context, rel *release.Release) error {
	if err := lock.Check(ctx); err != nil {
		return err
	}
	return r.translate(r.store.Create(ctx, rel))
}

// Update implements action.Recorder.
func (r *Records) Update(ctx context.Context, rel *release.Release) error {
	if err := lock.Check(ctx); err != nil {
		return err
	}
	return r.translate(r.store.Update(ctx, rel))
}

// Delete implements action.Recorder.
func (r *Records) Delete(ctx context.Context, name string, revision action.Revision) error {
	if err := lock.Check(ctx); err != nil {
		return err
	}
	return r.translate(r.store.Delete(ctx, name, revision.Number, revision.Version))
}

// Revisions implements action.Recorder.
func (r *Records) Revisions(ctx context.Context, name string) ([]action.Revision, error) {
	records, err := r.store.Revisions(ctx, name)
	if err != nil {
		return nil, r.translate(err)
	}
	if len(records) == 0 {
		return nil, &action.NotFoundError{Name: name, Namespace: r.namespace}
	}
	out := make([]action.Revision, len(records))
	for i, rec := range records {
		out[i] = action.Revision{Number: rec.Revision, Status: rec.Status, Version: rec.Version, Err: r.translate(rec.Unsupported())}
	}
	return out, nil
}

// Prune implements action.Recorder.
func (r *Records) Prune(ctx context.Context, name string, max int, keep func(action.Revision) bool) error {
	if err := lock.Check(ctx); err != nil {
		return err
	}
	return r.translate(r.store.Prune(ctx, name, max, func(rec storage.Record) bool {
		return keep(action.Revision{Number: rec.Revision, Status: rec.Status})
	}))
}

// List implements action.Lister.
func (r *Records) List(ctx context.Context, f action.ListFilter) ([]release.Summary, error) {
	found, err := r.store.List(ctx, storage.Filter{Statuses: f.Statuses, Match: f.Labels, Name: f.Name, AllRevisions: f.AllRevisions})
	return found, r.translate(err)
}

// History implements action.HistoryReader.
func (r *Records) History(ctx context.Context, name string, limit int) ([]release.Summary, error) {
	found, err := r.store.History(ctx, name, limit)
	return found, r.translate(err)
}
