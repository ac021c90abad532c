// SPDX-License-Identifier: Apache-2.0

// Package progress reports what an operation is doing, one way: the core calls a function
// with what has just happened.
//
//	config.Progress = func(e progress.Event) { log.Println(e.Kind, e.Object, e.Text) }
//
// A [Func] cannot fail and cannot change anything. It is called from several goroutines,
// and must return soon. A nil Func reports nothing.
package progress

// Kind says what an [Event] reports.
type Kind string

// The kinds of events.
const (
	Step     Kind = "step"     // an operation entered a new phase; Text names it
	Created  Kind = "created"  // Object was created
	Updated  Kind = "updated"  // Object was changed
	Deleted  Kind = "deleted"  // Object was deleted
	Kept     Kind = "kept"     // Object was left alone on purpose; Text says why
	Waiting  Kind = "waiting"  // Object is awaited; Text says for what
	Ready    Kind = "ready"    // Object is ready; Text says what it is where something else was awaited ("gone")
	Failing  Kind = "failing"  // Object is awaited and shows trouble; Text says which
	Settled  Kind = "settled"  // a wait is over, well or not: nothing is awaited any more
	Log      Kind = "log"      // Text is what Object has written, one line or several
	HookRun  Kind = "hook"     // a hook started; Object is its resource
	Warning  Kind = "warning"  // something the user should know; Text says it
	Download Kind = "download" // Done of Total bytes of Text have arrived
	Fetched  Kind = "fetched"  // the download of Text has ended, well or not; Done bytes have arrived
)

// Event is one report. Fields that do not apply are zero.
type Event struct {
	Kind   Kind
	Object string // "Deployment/web", with the namespace where it matters
	Text   string
	Done   int64
	Total  int64 // 0 where it is not known
}

// Func receives events. It may be called from several goroutines at once. A
// nil Func is valid and reports nothing through [Func.Send].
type Func func(Event)

// Send hands e to f, or does nothing where f is nil.
func (f Func) Send(e Event) {
	if f != nil {
		f(e)
	}
}
