// SPDX-License-Identifier: Apache-2.0

// Package progress reports the progress of an operation: the core calls a function after
// each step.
//
//	config.Progress = func(e progress.Event) { log.Println(e.Kind, e.Object, e.Text) }
//
// A [Func] cannot fail or change the operation. It is called from several goroutines and
// must return quickly. A nil Func reports nothing.
package progress

// Kind is the kind of an [Event].
type Kind string

// The kinds of events.
const (
	Step     Kind = "step"     // the operation entered a new phase; Text is its name
	Created  Kind = "created"  // Object was created
	Updated  Kind = "updated"  // Object was changed
	Deleted  Kind = "deleted"  // Object was deleted
	Kept     Kind = "kept"     // Object was kept; Text is the reason
	Waiting  Kind = "waiting"  // the operation waits for Object; Text is the condition
	Ready    Kind = "ready"    // Object is ready; Text is its state if that is not "ready"
	Failing  Kind = "failing"  // the operation waits for Object, which has a problem; Text describes it
	Settled  Kind = "settled"  // a wait has ended, successfully or not; Text is set if a Summary follows
	Log      Kind = "log"      // Text is log output of Object, one or more lines
	Occurred Kind = "event"    // the cluster has reported the event Text about Object
	Summary  Kind = "summary"  // Text has lines with what was ready when, after the last wait
	HookRun  Kind = "hook"     // a hook started; Object is its object
	Warning  Kind = "warning"  // Text is a warning to the user
	Download Kind = "download" // Done of Total bytes of Text were downloaded
	Fetched  Kind = "fetched"  // the download of Text has ended, successfully or not, after Done bytes
)

// Event is one report. Fields that do not apply are zero.
type Event struct {
	Kind   Kind
	Object string // "Deployment/web", with the namespace if it is ambiguous
	Text   string
	Done   int64
	// Total is the size of a download, or the number of objects that a wait is for; 0 if it is
	// unknown.
	Total int64
}

// Func receives events. It may be called from several goroutines at once. A
// nil Func is valid and reports nothing through [Func.Send].
type Func func(Event)

// Send calls f with e. It does nothing if f is nil.
func (f Func) Send(e Event) {
	if f != nil {
		f(e)
	}
}
