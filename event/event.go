// SPDX-License-Identifier: Apache-2.0

// Package event is the lifecycle of an operation as values: one type per event, handlers,
// and the [Bus] that carries them.
//
//	bus := &event.Bus{}
//	event.On(bus, "registry policy", event.DefaultPriority,
//		func(ctx context.Context, e *event.PostRender) error {
//			return check(e.Objects) // an error stops the operation
//		})
//	config.Events = bus // of an action.Config
//
// Events are synchronous and ordered. A handler may change the fields that its event's
// Mutable names. Scripts of charts and handlers of Go programs run by priority; the steps of
// the core follow, in the order that package action decides. The package emits nothing by
// itself, and knows neither Lua nor a cluster.
package event

import (
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// Event is one moment of an operation's life.
type Event interface {
	// Name is the word that scripts, annotations and the command line use for
	// it ("pre-install").
	Name() string
	// Data returns what the event shows. It is never nil; handlers change it in place.
	Data() *Payload
	// Mutable returns the fields of Data that handlers may change. A change to another
	// field is lost, or refused where it can be seen.
	Mutable() Fields
}

// A Payload is what an event shows. Fields may be empty, as the event's type says: an
// uninstall has no chart, and nothing has objects before it was
// rendered.
type Payload struct {
	// Operation is the same for all events of one operation; nil stands for
	// one of which nothing is known.
	Operation *Operation
	// Chart is the root of the tree that takes part: disabled dependencies are
	// gone, aliases applied. The tree is the operation's own: a handler may
	// replace the slices of its charts (Templates, Files), but must not write
	// into the files, which are shared with the loaded chart.
	Chart *chart.Chart
	// Values are the root's final values, with those of its subcharts below
	// their names. Handlers registered with [On] own them, all the way down.
	Values map[string]any
	// Objects are in install order, hooks among them. An object is replaced,
	// never changed.
	Objects []*manifest.Object
	// Release is the record, nil before there is one.
	Release *release.Release
}

// Data implements [Event] for all types that embed a Payload.
func (s *Payload) Data() *Payload { return s }

// Operation describes the operation that emits an event. Handlers must not change it.
type Operation struct {
	// Command is the verb: "install".
	Command string
	// DryRun is set where nothing will be written.
	DryRun bool

	// The release, as templates see it in .Release.
	Name      string
	Namespace string
	Revision  int
	Service   string
	IsInstall bool
	IsUpgrade bool

	// What the cluster can do, as templates see it in .Capabilities.
	HelmVersion string
	KubeVersion string
	APIVersions []string

	// Lookup reads from the cluster what templates' lookup would: an object,
	// or a list where name is empty; nothing is an empty map. nil answers
	// everything with nothing.
	Lookup func(apiVersion, kind, namespace, name string) (map[string]any, error)
}

// Fields are fields of a [Payload] that handlers may change, joined with |.
type Fields uint8

// The parts.
const (
	Values Fields = 1 << iota
	Templates
	Files
	Objects
	Dependencies
	// Versions are version and appVersion of the root chart's metadata.
	Versions
)

// Has reports whether p has all fields of q.
func (p Fields) Has(q Fields) bool { return p&q == q }

// Functions are the functions that scripts give to templates: by chart (its
// FullPath), then by name. They may be called from several goroutines.
type Functions map[string]map[string]func(args ...any) (any, error)

// Add gives the templates of the chart at that path a function.
func (f *Functions) Add(chartPath, name string, fn func(args ...any) (any, error)) {
	if *f == nil {
		*f = Functions{}
	}
	if (*f)[chartPath] == nil {
		(*f)[chartPath] = map[string]func(args ...any) (any, error){}
	}
	(*f)[chartPath][name] = fn
}
