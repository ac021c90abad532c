// SPDX-License-Identifier: Apache-2.0

// Package event defines the lifecycle events of an operation: one type per event, and a
// [Bus] that calls the handlers.
//
//	bus := &event.Bus{}
//	event.On(bus, "registry policy", event.DefaultPriority,
//		func(ctx context.Context, e *event.PostRender) error {
//			return check(e.Objects) // an error stops the operation
//		})
//	config.Events = bus // of an action.Config
//
// Events are synchronous and ordered. A handler may change the fields that its event's
// Mutable returns. Handlers of chart scripts and of Go programs run by priority, then the
// steps of the core in the order that package action defines. The package does not emit
// events and does not depend on Lua or a cluster.
package event

import (
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// Event is a point of an operation's lifecycle.
type Event interface {
	// Name returns the name in scripts, annotations and on the command line, such
	// as "pre-install".
	Name() string
	// Data returns the event's data. It is never nil; handlers change it in place.
	Data() *Payload
	// Mutable returns the fields of Data that handlers may change. A change of another
	// field is ignored, or an error if it is detected.
	Mutable() Fields
}

// A Payload is the data of an event. Depending on the event, fields are empty: an
// uninstall has no chart, and there are no objects before rendering.
type Payload struct {
	// Operation is the same for all events of an operation. It is nil if the
	// operation is unknown.
	Operation *Operation
	// Chart is the root chart, without disabled dependencies and with aliases
	// applied. It belongs to the operation: a handler may replace the slices of its
	// charts (Templates, Files), but must not change the files themselves, which
	// are shared with the loaded chart.
	Chart *chart.Chart
	// Values are the root chart's final values, with those of a subchart under its
	// name. Handlers registered with [On] get a deep copy.
	Values map[string]any
	// Objects are in install order and include hooks. A handler replaces an object
	// and never changes it.
	Objects []*manifest.Object
	// Release is the record, or nil if there is none yet.
	Release *release.Release
}

// Data implements [Event] for all types that embed a Payload.
func (s *Payload) Data() *Payload { return s }

// Operation describes the operation that emits an event. Handlers must not change it.
type Operation struct {
	// Command is the verb: "install".
	Command string
	// DryRun is set if nothing will be written.
	DryRun bool

	// The release, as templates see it in .Release.
	Name      string
	Namespace string
	Revision  int
	Service   string
	IsInstall bool
	IsUpgrade bool

	// The capabilities of the cluster, as templates see them in .Capabilities.
	HelmVersion string
	KubeVersion string
	APIVersions []string

	// Lookup reads from the cluster like the template function lookup: an object,
	// or a list if name is empty. The result is an empty map if there is nothing, or
	// if Lookup is nil.
	Lookup func(apiVersion, kind, namespace, name string) (map[string]any, error)
}

// Fields are fields of a [Payload] that handlers may change, joined with |.
type Fields uint8

// The fields.
const (
	Values Fields = 1 << iota
	Templates
	Files
	Objects
	Dependencies
	// Versions is version and appVersion of the root chart's metadata.
	Versions
)

// Has reports whether p has all fields of q.
func (p Fields) Has(q Fields) bool { return p&q == q }

// Functions are template functions that scripts define, by chart (its FullPath), then by
// name. They may be called concurrently.
type Functions map[string]map[string]func(args ...any) (any, error)

// Add adds a function to the templates of the chart at chartPath.
func (f *Functions) Add(chartPath, name string, fn func(args ...any) (any, error)) {
	if *f == nil {
		*f = Functions{}
	}
	if (*f)[chartPath] == nil {
		(*f)[chartPath] = map[string]func(args ...any) (any, error){}
	}
	(*f)[chartPath][name] = fn
}
