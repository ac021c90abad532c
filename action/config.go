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

// Config holds what operations on the releases of a namespace need. Operations do not
// change it, and several may share it at the same time.
type Config struct {
	// Cluster is where releases are installed. Operations that need none, such as
	// [Template], work without one.
	Cluster Cluster
	// Releases are the records of the releases, those of one namespace. Operations write
	// to a [*storage.Storage] only while they hold the release's lock; another
	// implementation calls [lock.Check] before each write itself.
	Releases Storage
	// Locker keeps other clients from changing a release while an operation does;
	// nil takes no lock, and leaves it to the caller that no other client changes it.
	// A [*lock.Locker] sends heartbeats on Releases, whatever records it was made with.
	Locker Locker
	// Events has the handlers that answer the events of every operation; nil has none.
	Events *event.Bus
	// Scripts returns what runs the scripts of charts for one operation; nil runs
	// none. An operation that undoes another one has its own: what the scripts were
	// allowed should be remembered, as [script.Approvals] does.
	Scripts func() ScriptRunner
	// PostRenderer pipes rendered objects through another program; nil does not.
	PostRenderer PostRenderer
	// ConfirmHooks is asked before hooks of a record, which come from no chart that
	// the user has named, create objects outside the release's namespace. An error ends
	// the operation before anything is written. nil refuses, with an [*OutsideError].
	ConfirmHooks func(ctx context.Context, rel *release.Release, outside []OutsideObject) error
	// Progress learns what an operation is doing; nil reports nothing.
	Progress progress.Func
	// Now is the clock; nil is time.Now.
	Now func() time.Time

	// client is the connection that NewConfig has made, nil where it has not, and applier
	// what changes objects over it.
	client  *kube.Client
	applier *apply.Applier
	// secrets are the records that NewConfig has made, nil where Releases are others.
	secrets *storage.Storage
	// hooks runs hooks in the place of hookRunner; tests note when.
	hooks hooks
}

// forOperation is a copy of c, or of the zero value, to whose records nothing is written
// once the lock of the release is lost.
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

// PostRenderer makes other objects of those that were rendered. postrender.Renderer is
// one.
type PostRenderer interface {
	Render(ctx context.Context, objects []*manifest.Object) ([]*manifest.Object, error)
}

// ScriptRunner runs the scripts of the charts of one operation, until it is closed.
// *script.Host is one.
type ScriptRunner interface {
	event.Source
	// Confirm asks for the permissions that the scripts of c want, and runs none. c
	// may be nil.
	Confirm(ctx context.Context, c *chart.Chart) error
	Close() error
}

// Locker locks releases. [*lock.Locker] is one.
type Locker interface {
	// Lock waits for its turn while ctx allows, and returns the lock and a context
	// that ends, with the reason as its cause, when the lock is lost. doing is the
	// operation ("upgrade").
	Lock(ctx context.Context, name, doing string) (context.Context, lock.Lock, error)
}

var _ Locker = (*lock.Locker)(nil)

// acquireLock takes the lock of a release, or none where there is no locker.
func (c *Config) acquireLock(ctx context.Context, name, doing string) (context.Context, lock.Lock, error) {
	switch l := c.Locker.(type) {
	case nil:
		return ctx, unlocked{}, nil
	case *lock.Locker:
		return l.WithRecords(c.Releases).Lock(ctx, name, doing)
	}
	return c.Locker.Lock(ctx, name, doing)
}

// unlocked is the lock of a client that is alone.
type unlocked struct{}

func (unlocked) Holder() string                       { return "" }
func (unlocked) Guard(int)                            {}
func (unlocked) Finish()                              {}
func (unlocked) Abandoned(context.Context, int) error { return nil }
func (unlocked) Unlock()                              {}

// lifecycle carries the events of one operation to handlers and scripts.
type lifecycle struct {
	*event.Bus
	scripts ScriptRunner // nil for none
}

// begin begins the events of an operation, which must be closed.
func (c *Config) begin() lifecycle {
	l := lifecycle{Bus: c.Events.Fork()}
	if c.Scripts != nil {
		l.scripts = c.Scripts()
		l.Use(l.scripts)
	}
	return l
}

// end ends the scripts of the operation.
func (l lifecycle) end() {
	if l.scripts != nil {
		_ = l.scripts.Close() // what went wrong in a script has been told where it happened
	}
}

// resolved starts the scripts of an operation's chart, then emits e.
func resolved(ctx context.Context, bus *event.Bus, e *event.ChartResolved) error {
	if err := bus.Load(ctx, e); err != nil {
		return err
	}
	return bus.Emit(ctx, e)
}

// now is the time by the configured clock.
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

// A ConfigError is returned when a [Config], or the field of a verb that stands for it,
// lacks what an operation needs.
type ConfigError struct {
	// Operation is what was to be done ("install"), Field what is nil ("Releases").
	Operation, Field string
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s: %s is not set (NewConfig makes a configuration for a cluster)", e.Operation, e.Field)
}

// A RequestError is returned when a request lacks what an operation needs.
type RequestError struct {
	// Operation is what was to be done ("install"), Field what is nil or empty ("Chart").
	Operation, Field string
}

func (e *RequestError) Error() string {
	return fmt.Sprintf("%s: the request has no %s", e.Operation, e.Field)
}

// requireChart returns a [*RequestError] where c is nil.
func requireChart(c *chart.Chart, operation string) error {
	if c == nil {
		return &RequestError{Operation: operation, Field: "Chart"}
	}
	return nil
}

// A NamespaceError is returned for a request that names another namespace than that of
// the [Config]'s releases.
type NamespaceError struct {
	Operation string
	// Namespace is the request's, Records that of the records.
	Namespace, Records string
}

func (e *NamespaceError) Error() string {
	return fmt.Sprintf("%s: the request is for namespace %q, and the configuration for the releases of %q", e.Operation,
		e.Namespace, e.Records)
}

// Hint says how to make a configuration for the namespace.
func (e *NamespaceError) Hint() string {
	return fmt.Sprintf("use the Config that InNamespace(%q) returns", e.Namespace)
}

// namespace is that of the releases, "" where that is not known.
func (c *Config) namespace() string {
	if c.Releases == nil {
		return ""
	}
	return c.Releases.Namespace()
}

// checkNamespace returns a [*NamespaceError] where an operation on a release of the
// namespace would have its record, or its lock, elsewhere.
func (c *Config) checkNamespace(namespace, operation string) error {
	if own := c.namespace(); own != "" && own != namespace {
		return &NamespaceError{Operation: operation, Namespace: namespace, Records: own}
	}
	return nil
}

// require returns a [*ConfigError] where an operation on releases of the cluster cannot
// begin.
func (c *Config) require(operation string) error {
	if err := requireReleases(c.Releases, operation); err != nil {
		return err
	}
	if c.Cluster == nil {
		return &ConfigError{Operation: operation, Field: "Cluster"}
	}
	return nil
}

// requireReleases returns a [*ConfigError] where releases is nil.
func requireReleases(releases any, operation string) error {
	if releases == nil {
		return &ConfigError{Operation: operation, Field: "Releases"}
	}
	return nil
}
