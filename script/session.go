// SPDX-License-Identifier: Apache-2.0

package script

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script/wire"
)

// session is one operation's conversation with its scripts' process.
type session struct {
	host   *Host
	tree   *tree
	proc   Process
	conn   *wire.Conn
	limits wire.Limits

	// conversation is held from a request until what it changed is carried out: one side
	// speaks at a time.
	conversation sync.Mutex
	operation    *event.Operation // of the last event
	left         time.Duration    // that the process may still run
	dead         error            // of the process, which cannot be asked any more
	output       int64            // bytes that were printed
	memory       int64            // bytes of what scripts made
	questions    int              // to the cluster and to servers
	waited       time.Duration    // for their answers

	registered atomic.Pointer[registered]
}

// registered is what the scripts have registered.
type registered struct {
	handlers  []handler
	functions []function
}

// handler is a handler of a script.
type handler struct {
	id       int64
	chart    *treeChart
	event    string
	priority float64
	where    string
}

// function is a script's function for templates.
type function struct {
	chart *treeChart
	name  string
}

// open starts a process for the scripts of t.
func (h *Host) open(ctx context.Context, t *tree, op *event.Operation) (*session, error) {
	if h.Start == nil {
		return nil, errors.New("this chart has scripts, and there is nothing here to run them")
	}
	limits := h.limits()
	proc, err := h.Start(ctx, limits)
	if err != nil {
		return nil, err
	}
	s := &session{
		host: h, tree: t, proc: proc, limits: limits, operation: op,
		conn: wire.NewConn(bufio.NewReaderSize(proc, 64<<10), proc),
		// The process enforces the limit itself, with a better error.
		left: limits.CPU + limits.CPU/2,
	}
	s.registered.Store(&registered{})
	return s, nil
}

// close ends the process. It does not wait until the process is gone, which takes
// milliseconds.
func (s *session) close() { _ = s.proc.Kill() }

// start loads all charts' scripts. more are fields of the request beside those that every
// operation has. It returns the answer.
func (s *session) start(ctx context.Context, more map[string]any) (fields, error) {
	seed := s.host.Seed
	if seed == 0 {
		seed = rand.Int64()
	}
	var environ []string
	if slices.ContainsFunc(s.tree.charts, func(m *treeChart) bool { return slices.Contains(m.grants, OS) }) {
		if environ = s.host.Environ; environ == nil {
			environ = os.Environ()
		}
	}
	body := map[string]any{
		"limits":  limitsBody(s.limits),
		"seed":    seed,
		"events":  texts(event.Names()),
		"aliases": textMap(event.Aliases()),
		"environ": texts(environ),
		"charts":  s.tree.message(),
		"cover":   s.host.Coverage != nil,
	}
	maps.Copy(body, more)
	r := &request{session: s, chart: s.tree.likelyOwner()}
	return r.run(ctx, wire.Message{Kind: wire.Start, Body: body})
}

func limitsBody(l wire.Limits) map[string]any {
	return map[string]any{"cpu": l.CPU.Milliseconds(), "memory": l.Memory, "output": l.Output}
}

// register replaces the handlers and functions with those that an answer lists, if it lists
// any.
func (s *session) register(done fields) error {
	if _, listed := done["handlers"]; !listed {
		return nil
	}
	handlers, err := readList(done, "handlers", s.readHandler)
	if err != nil {
		return err
	}
	functions, err := readList(done, "functions", s.readFunction)
	if err != nil {
		return err
	}
	// Depth first, and for one chart in the order of registration.
	slices.SortStableFunc(handlers, func(a, b handler) int { return a.chart.index - b.chart.index })
	s.registered.Store(&registered{handlers, functions})
	return nil
}

func (s *session) readHandler(f fields) (handler, error) {
	priority, isFloat := f["priority"].(float64)
	h := handler{id: f.number("id"), chart: s.tree.chartOf(f), event: f.text("event"), priority: priority,
		where: f.short("where", maxSource)}
	inRange := priority >= 0 && priority <= 1 // NaN is not
	if h.chart == nil || !isFloat || !inRange || !slices.Contains(event.Names(), h.event) {
		return h, errors.New("it registered an invalid handler")
	}
	return h, nil
}

func (s *session) readFunction(f fields) (function, error) {
	fn := function{s.tree.chartOf(f), f.text("name")}
	if fn.chart == nil || fn.name == "" {
		return fn, errors.New("it registered an invalid function")
	}
	return fn, nil
}

// eventHandlers returns the scripts' handlers of an event.
func (s *session) eventHandlers(name string) []event.Handler {
	var out []event.Handler
	for _, h := range s.registered.Load().handlers {
		if h.event != name {
			continue
		}
		out = append(out, event.Handler{
			Owner:    "chart " + strconv.Quote(h.chart.name),
			Where:    h.where,
			Chart:    h.chart.path,
			Priority: h.priority,
			Handle: func(ctx context.Context, e event.Event) error {
				_, err := s.call(ctx, h, e, map[string]any{"handler": h.id})
				return err
			},
		})
	}
	return out
}

// request is a request to the process.
type request struct {
	session *session
	// event is the event that is handled, "" for none; chart is the script's chart, nil
	// where it is not known; where is the position of its handler.
	event string
	chart *treeChart
	where string

	nodes nodes          // nil for a request without a context
	lint  *event.PreLint // nil where findings are not asked for
	// assign sets a field of the chart's metadata; nil where none may change.
	assign func(id int64, field string, value any) error
}

// run sends m and answers the process's questions until it is done. It registers the
// handlers that the process lists, and returns the answer. The error is an [*Error], or the
// context's. Where there may be other requests the caller holds the conversation.
func (r *request) run(ctx context.Context, m wire.Message) (fields, error) {
	s := r.session
	if s.dead != nil {
		return nil, s.dead
	}
	next := &m
	for {
		got, err := s.exchange(ctx, next)
		if err != nil {
			return nil, r.ended(ctx, m.Kind, err)
		}
		switch got.Kind {
		case wire.Done:
			s.addCoverage(got.Body)
			if err := s.register(got.Body); err != nil {
				return nil, r.protocolError(err)
			}
			return got.Body, nil
		case wire.Fail:
			s.addCoverage(got.Body)
			failed := r.scriptError(got.Body)
			if failed.Limit != "" {
				s.dead = failed
				s.close()
			}
			return nil, failed
		}
		begin := time.Now()
		next, err = r.answer(ctx, got)
		if got.Kind == wire.Load {
			s.left -= time.Since(begin) // others wait for users and servers
		}
		if err != nil {
			return nil, r.protocolError(err)
		}
		if ctx.Err() != nil {
			return nil, r.ended(ctx, m.Kind, ctx.Err())
		}
	}
}

// addCoverage tells the host which lines were run.
func (s *session) addCoverage(answer fields) {
	if s.host.Coverage == nil {
		return
	}
	list, err := answer.list("coverage")
	if err != nil {
		return
	}
	for _, f := range list {
		of, file, line, hits := s.tree.chartOf(f), f.text("file"), f.line(), f.number("hits")
		// A script has no more lines than bytes: the counts of what there is are bounded.
		if of != nil && line > 0 && line <= len(of.script(file)) && hits >= 0 {
			s.host.Coverage(of.path, file, line, hits)
		}
	}
}

// exchange sends m, if it is not nil, and waits for the next message of the process. It
// kills the process when its time is over or the context is done.
func (s *session) exchange(ctx context.Context, m *wire.Message) (wire.Message, error) {
	if err := ctx.Err(); err != nil {
		return wire.Message{}, err
	}
	timer := time.AfterFunc(max(s.left, 0), s.close)
	stop := context.AfterFunc(ctx, s.close)
	begin := time.Now()
	defer func() {
		timer.Stop()
		stop()
		s.left -= time.Since(begin)
	}()
	if m != nil {
		if err := s.conn.Send(*m); err != nil {
			return s.finalMessage(err)
		}
	}
	return s.conn.Receive()
}

// finalMessage returns the message of a process that cannot be written to any more, such as
// the limit that it exceeded while it was sent an answer. The error is err where there is
// no such message.
func (s *session) finalMessage(err error) (wire.Message, error) {
	var lost *fs.PathError
	if errors.As(err, &lost) || errors.Is(err, io.ErrClosedPipe) {
		if m, none := s.conn.Receive(); none == nil && m.Kind == wire.Fail {
			return m, nil
		}
	}
	return wire.Message{}, err
}

// ended ends the process, and returns why it has not answered a request.
func (r *request) ended(ctx context.Context, asked wire.Kind, err error) error {
	s := r.session
	switch {
	case errors.Is(err, wire.ErrTooLarge) || errors.Is(err, wire.ErrTooMany) || errors.Is(err, wire.ErrDepth):
		what := "what the scripts made is too much to take: "
		if asked == wire.Start || asked == wire.Check {
			what = "the charts' scripts are too much to take: "
		}
		return r.stop(&Error{Message: what + err.Error(), err: err})
	case ctx.Err() != nil:
		s.close()
		s.dead = ctx.Err()
		return s.dead
	case s.left <= 0:
		return r.stop(&Error{Limit: "cpu", Message: "the scripts ran too long" + s.limitText("cpu")})
	}
	how := s.exitError()
	e := &Error{Message: "the scripts' process ended in the middle of its work", err: how}
	var limit interface{ Exceeded() string }
	if errors.As(how, &limit) {
		e.Limit = limit.Exceeded()
	}
	switch {
	case e.Limit != "":
		e.Message = how.Error() + s.limitText(e.Limit)
	case errors.Is(err, wire.ErrGarbled):
		return r.protocolError(err)
	case how != nil:
		e.Message = "the scripts' process ended: " + strings.TrimPrefix(how.Error(), "the scripts' process ")
	}
	return r.stop(e)
}

// exitError returns how the process ended. It ends one that does not end by itself.
func (s *session) exitError() error {
	how := make(chan error, 1)
	go func() { how <- s.proc.Wait() }()
	select {
	case err := <-how:
		return err
	case <-time.After(200 * time.Millisecond):
	}
	s.close()
	return <-how
}

// protocolError ends a process that violates the protocol, or that has reached a limit: then
// err is an [*Error].
func (r *request) protocolError(err error) error {
	if limit, ok := errors.AsType[*Error](err); ok {
		return r.stop(limit)
	}
	return r.stop(&Error{Message: "the scripts' process violated the protocol: " + err.Error(), err: err})
}

// stop ends the process; e is the error of this request and of all that follow.
func (r *request) stop(e *Error) error {
	r.session.close()
	e.Event = r.event
	if r.chart != nil {
		e.Chart = r.chart.name
	}
	e.File, e.Line = splitPosition(r.position())
	r.session.dead = e
	return e
}

// position returns the position of the script that runs, as far as it is known.
func (r *request) position() string {
	if r.where == "" && r.chart != nil {
		return chart.FileScript
	}
	return r.where
}
