// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// Config holds the connections and settings for operations on the releases of one
// namespace. Operations do not change it, and may share it concurrently.
type Config struct {
	// Cluster is the cluster that releases are installed into. It may be nil for
	// operations without cluster access, such as [Template].
	Cluster Cluster
	// Releases stores the release records of one namespace. If it is a
	// [*storage.Storage], operations write to it only while they hold the release's
	// lock; another implementation must call [lock.Check] before each write.
	Releases Storage
	// Locker locks a release while an operation changes it. With nil there is no lock,
	// and the caller must prevent concurrent changes. A [*lock.Locker] sends its
	// heartbeats to Releases, regardless of the records it was created with.
	Locker Locker
	// Events holds the event handlers of every operation; nil means no handlers.
	Events *event.Bus
	// Scripts returns the runner of chart scripts for one operation; nil runs no
	// scripts. An operation that reverts another one calls it again: the runner should
	// reuse approvals that were already given, as [script.Approvals] does.
	Scripts func() ScriptRunner
	// PostRenderer filters the rendered objects; it may be nil.
	PostRenderer PostRenderer
	// ConfirmHooks is called before hooks of a recorded release, whose chart the user
	// has not passed, create objects outside the release's namespace. An error ends the
	// operation before anything is written. With nil, the operation returns an
	// [*OutsideError].
	ConfirmHooks func(ctx context.Context, rel *release.Release, outside []OutsideObject) error
	// Progress receives progress events; it may be nil.
	Progress progress.Func
	// Now returns the current time; nil means time.Now.
	Now func() time.Time

	// client is the connection that NewConfig creates, and applier the applier that uses
	// it. Both are nil in other configurations.
	client  *kube.Client
	applier *apply.Applier
	// secrets are the records that NewConfig creates, or nil if the caller has set others.
	secrets *storage.Storage
	// hooks replaces hookRunner in tests that record when hooks run.
	hooks hooks
}

// forOperation returns a copy of c, or of the zero value if c is nil, whose records refuse
// writes once the release's lock is lost.
func (c *Config) forOperation() *Config {
	out := &Config{}
	if c != nil {
		*out = *c
	}
	if records, ok := out.Releases.(*storage.Storage); ok && records != nil {
		out.Releases = records.Guarded(lock.Check)
	}
	return out
}

// A PostRenderer transforms the rendered objects. postrender.Renderer implements it.
type PostRenderer interface {
	Render(ctx context.Context, objects []*manifest.Object) ([]*manifest.Object, error)
}

// A ScriptRunner runs the scripts of the charts of one operation, until it is closed.
// *script.Host implements it.
type ScriptRunner interface {
	event.Source
	// Confirm asks the user for the permissions that the scripts of c declare, without
	// running them. c may be nil.
	Confirm(ctx context.Context, c *chart.Chart) error
	Close() error
}

// A Locker locks releases. [*lock.Locker] implements it.
type Locker interface {
	// Lock waits for the lock until ctx ends. It returns the lock and a context that
	// is canceled, with the reason as its cause, when the lock is lost. doing is the
	// name of the operation ("upgrade").
	Lock(ctx context.Context, name, doing string) (context.Context, lock.Lock, error)
}

var _ Locker = (*lock.Locker)(nil)

// acquireLock locks a release, or returns a lock without effect if there is no Locker.
func (c *Config) acquireLock(ctx context.Context, name, doing string) (context.Context, lock.Lock, error) {
	switch l := c.Locker.(type) {
	case nil:
		return ctx, unlocked{}, nil
	case *lock.Locker:
		return l.WithRecords(c.Releases).Lock(ctx, name, doing)
	}
	return c.Locker.Lock(ctx, name, doing)
}

// unlocked is a lock without effect, for a Config without a Locker.
type unlocked struct{}

func (unlocked) Holder() string                       { return "" }
func (unlocked) Guard(int)                            {}
func (unlocked) Finish()                              {}
func (unlocked) Abandoned(context.Context, int) error { return nil }
func (unlocked) Unlock()                              {}

// lifecycle emits the events of one operation to handlers and scripts.
type lifecycle struct {
	*event.Bus
	scripts ScriptRunner // may be nil
}

// begin returns the lifecycle of a new operation. The caller must call end.
func (c *Config) begin() lifecycle {
	l := lifecycle{Bus: c.Events.Fork()}
	if c.Scripts != nil {
		l.scripts = c.Scripts()
		l.Use(l.scripts)
	}
	return l
}

// end closes the script runner of the operation.
func (l lifecycle) end() {
	if l.scripts != nil {
		_ = l.scripts.Close() // a failing event has already returned the error of its script
	}
}

// emitResolved starts the scripts of an operation's chart, then emits e.
func emitResolved(ctx context.Context, bus *event.Bus, e *event.ChartResolved) error {
	if err := bus.Load(ctx, e); err != nil {
		return err
	}
	return bus.Emit(ctx, e)
}

// now returns the time of the configured clock.
func (c *Config) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

func (c *Config) step(text string) {
	c.Progress.Send(progress.Event{Kind: progress.Step, Text: text})
}

func (c *Config) warn(text string) {
	c.Progress.Send(progress.Event{Kind: progress.Warning, Text: text})
}

// A ConfigError is returned if a required field of a [Config], or of an operation without
// one, is nil.
type ConfigError struct {
	// Operation is the name of the operation ("install"), Field the nil field ("Releases").
	Operation, Field string
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s: %s is not set (NewConfig makes a configuration for a cluster)", e.Operation, e.Field)
}

// A RequestError is returned if a required field of a request is not set.
type RequestError struct {
	// Operation is the name of the operation ("install"), Field the missing field ("Chart").
	Operation, Field string
}

func (e *RequestError) Error() string {
	return fmt.Sprintf("%s: the request has no %s", e.Operation, e.Field)
}

// requireChart returns a [*RequestError] if c is nil.
func requireChart(c *chart.Chart, operation string) error {
	if c == nil {
		return &RequestError{Operation: operation, Field: "Chart"}
	}
	return nil
}

// A NamespaceError is returned if the namespace of a request is not the namespace of the
// [Config]'s releases.
type NamespaceError struct {
	Operation string
	// Namespace is the namespace of the request, Records the namespace of the records.
	Namespace, Records string
}

func (e *NamespaceError) Error() string {
	return fmt.Sprintf("%s: the request is for namespace %q, and the configuration for the releases of %q", e.Operation,
		e.Namespace, e.Records)
}

// Hint suggests how to get a Config for the namespace.
func (e *NamespaceError) Hint() string {
	return fmt.Sprintf("use the Config that InNamespace(%q) returns", e.Namespace)
}

// namespace returns the namespace of the releases, or "" if it is not known.
func (c *Config) namespace() string {
	if c.Releases == nil {
		return ""
	}
	return c.Releases.Namespace()
}

// checkNamespace returns a [*NamespaceError] if the records and locks of c are in another
// namespace.
func (c *Config) checkNamespace(namespace, operation string) error {
	if recordsNamespace := c.namespace(); recordsNamespace != "" && recordsNamespace != namespace {
		return &NamespaceError{Operation: operation, Namespace: namespace, Records: recordsNamespace}
	}
	return nil
}

// require returns a [*ConfigError] if c lacks records or a cluster.
func (c *Config) require(operation string) error {
	if err := requireReleases(c.Releases, operation); err != nil {
		return err
	}
	if c.Cluster == nil {
		return &ConfigError{Operation: operation, Field: "Cluster"}
	}
	return nil
}

// requireReleases returns a [*ConfigError] if releases is nil.
func requireReleases(releases any, operation string) error {
	if releases == nil {
		return &ConfigError{Operation: operation, Field: "Releases"}
	}
	return nil
}
