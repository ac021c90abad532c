// SPDX-License-Identifier: Apache-2.0

package script

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/script/wire"
)

// session is one operation's conversation with its scripts' process.
type session struct {
	host   *Host
	tree   *tree
	proc   Process
	conn   *wire.Conn
	limits wire.Limits
	debug  bool

	// conversation is held during a request: one side speaks at a time.
	conversation sync.Mutex
	left         time.Duration // that the process may still run
	dead         error         // of the process, which cannot be asked any more
	ids          uint64        // the last number of a node
	output       int64         // bytes that were printed
	memory       int64         // bytes of what scripts made
	questions    int           // to the cluster and to servers
	waited       time.Duration // for their answers

	mu        sync.Mutex // of what follows
	operation *event.Operation
	handlers  []handler
	functions []function
}

// handler is a handler of a script.
type handler struct {
	id       int64
	chart    int
	event    string
	priority float64
	where    string
}

// function is a script's function for templates.
type function struct {
	chart int
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
	return &session{
		host: h, tree: t, proc: proc, limits: limits, debug: h.Debug, operation: op,
		conn: wire.NewConn(bufio.NewReaderSize(proc, 64<<10), proc),
		left: processTime(limits),
	}, nil
}

// close ends the process. It does not wait until the process is gone, which takes
// milliseconds.
func (s *session) close() { _ = s.proc.Kill() }

// start loads all charts' scripts.
func (s *session) start(ctx context.Context) error {
	_, err := s.startWith(ctx, map[string]any{})
	return err
}

// startWith is [session.start] with more fields of the request. It returns the answer.
func (s *session) startWith(ctx context.Context, body map[string]any) (wire.Message, error) {
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
	aliases := map[string]any{}
	for name, of := range event.Aliases() {
		aliases[name] = of
	}
	r := &request{session: s, chart: s.tree.likelyOwner()}
	maps.Copy(body, map[string]any{
		"limits":  limitsBody(s.limits),
		"seed":    seed,
		"events":  texts(event.Names()),
		"aliases": aliases,
		"environ": texts(environ),
		"charts":  s.tree.message(),
		"cover":   s.host.Coverage != nil,
	})
	return r.run(ctx, wire.Message{Kind: wire.Start, Body: body})
}

func limitsBody(l wire.Limits) map[string]any {
	return map[string]any{"cpu": l.CPU.Milliseconds(), "memory": l.Memory, "output": l.Output}
}

// register replaces the handlers and functions with those that m lists, if it lists any.
func (s *session) register(m wire.Message) error {
	if _, told := m.Body["handlers"]; !told {
		return nil
	}
	hs, err := mapsOf(m.Body, "handlers")
	if err != nil {
		return err
	}
	var handlers []handler
	for _, b := range hs {
		h := handler{where: truncate.Bytes(textOf(b, "where"), maxSource, "…"), event: textOf(b, "event")}
		h.id, _ = b["id"].(int64)
		at, ok := s.chartOf(b)
		p, isFloat := b["priority"].(float64)
		if !ok || !isFloat || math.IsNaN(p) || p < 0 || p > 1 || !slices.Contains(event.Names(), h.event) {
			return errors.New("it registered an invalid handler")
		}
		h.chart, h.priority = at, p
		handlers = append(handlers, h)
	}
	// Depth first, and for one chart in the order of registration.
	slices.SortStableFunc(handlers, func(a, b handler) int { return a.chart - b.chart })
	fs, err := mapsOf(m.Body, "functions")
	if err != nil {
		return err
	}
	var functions []function
	for _, b := range fs {
		at, ok := s.chartOf(b)
		name := textOf(b, "name")
		if !ok || name == "" {
			return errors.New("it registered an invalid function")
		}
		functions = append(functions, function{at, name})
	}
	s.mu.Lock()
	s.handlers, s.functions = handlers, functions
	s.mu.Unlock()
	return nil
}

// chartOf returns the index of the chart that b names.
func (s *session) chartOf(b map[string]any) (int, bool) {
	at, ok := b["chart"].(int64)
	if !ok || at < 0 || at >= int64(len(s.tree.charts)) {
		return 0, false
	}
	return int(at), true
}

// mapsOf returns the list of maps under a key of a message.
func mapsOf(body map[string]any, key string) ([]map[string]any, error) {
	l, ok := body[key].([]any)
	if !ok && body[key] != nil {
		return nil, fmt.Errorf("its %s are not a list", key)
	}
	out := make([]map[string]any, len(l))
	for i, e := range l {
		if out[i], ok = e.(map[string]any); !ok {
			return nil, fmt.Errorf("its %s are not maps", key)
		}
	}
	return out, nil
}

func textOf(b map[string]any, key string) string {
	t, _ := b[key].(string)
	return t
}

// eventHandlers returns the scripts' handlers of an event.
func (s *session) eventHandlers(name string) []event.Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []event.Handler
	for _, h := range s.handlers {
		if h.event != name {
			continue
		}
		out = append(out, event.Handler{
			Owner:    "chart " + strconv.Quote(s.tree.charts[h.chart].name),
			Where:    h.where,
			Chart:    s.tree.charts[h.chart].path,
			Priority: h.priority,
			Handle:   func(ctx context.Context, e event.Event) error { return s.call(ctx, h, e) },
		})
	}
	return out
}

// processTime returns how long the process may run in all: more than the limit, which the
// process enforces itself with a better error, and less than twice the limit.
func processTime(l wire.Limits) time.Duration { return l.CPU + l.CPU/2 }

// request is a request to the process.
type request struct {
	session *session
	// event is the event that is handled, "" for none; chart is the index of the script's
	// chart, -1 where it is not known; where is the position of its handler.
	event string
	chart int
	where string

	nodes *nodes    // nil where there is no context
	lint  *lintSink // nil where findings are not asked for
	// assign sets a field of the chart's metadata; nil where none may change.
	assign func(id int64, field string, value any) error
}

// lintSink takes the findings of a pre-lint handler.
type lintSink struct{ warn, fail func(path, text string) }

// run sends m and answers the process's questions until it is done. It registers the
// handlers that the process lists. The error is an [*Error], or the context's.
func (r *request) run(ctx context.Context, m wire.Message) (wire.Message, error) {
	s := r.session
	s.conversation.Lock()
	defer s.conversation.Unlock()
	if s.dead != nil {
		return wire.Message{}, s.dead
	}
	next := &m
	for {
		got, err := s.exchange(ctx, next)
		if errors.Is(err, wire.ErrTooLarge) || errors.Is(err, wire.ErrTooMany) || errors.Is(err, wire.ErrDepth) {
			what := "what the scripts made is too much to take: "
			if m.Kind == wire.Start || m.Kind == wire.Check {
				what = "the charts' scripts are too much to take: "
			}
			return wire.Message{}, r.stop(&Error{Message: what + err.Error(), err: err})
		}
		if err != nil {
			return wire.Message{}, r.ended(ctx, err)
		}
		if got.Kind == wire.Done || got.Kind == wire.Fail {
			s.addCoverage(got)
		}
		switch got.Kind {
		case wire.Done:
			if err := s.register(got); err != nil {
				return wire.Message{}, r.protocolErrorLocked(err)
			}
			return got, nil
		case wire.Fail:
			failed := s.scriptError(got, r.event, r.chart, r.position())
			if failed.Limit != "" {
				s.dead = failed
				_ = s.proc.Kill()
			}
			return wire.Message{}, failed
		default:
			begin := time.Now()
			answer, err := r.answer(ctx, got)
			if got.Kind == wire.Load {
				s.left -= time.Since(begin) // others wait for users and servers
			}
			if err != nil {
				return wire.Message{}, r.protocolErrorLocked(err)
			}
			next = answer
		}
		if err := ctx.Err(); err != nil {
			return wire.Message{}, r.ended(ctx, err)
		}
	}
}

// addCoverage tells the host which lines were run.
func (s *session) addCoverage(m wire.Message) {
	if s.host.Coverage == nil {
		return
	}
	list, err := mapsOf(m.Body, "coverage")
	if err != nil {
		return
	}
	for _, b := range list {
		at, ok := s.chartOf(b)
		line, _ := b["line"].(int64)
		hits, _ := b["hits"].(int64)
		if ok && line > 0 && line <= 1<<30 && hits >= 0 {
			s.host.Coverage(s.tree.charts[at].path, truncate.Bytes(textOf(b, "file"), maxSource, "…"), int(line), hits)
		}
	}
}

// exchange sends m, if it is not nil, and waits for the next message of the process. It
// kills the process when its time is over or the context is done.
func (s *session) exchange(ctx context.Context, m *wire.Message) (wire.Message, error) {
	if err := ctx.Err(); err != nil {
		return wire.Message{}, err
	}
	kill := func() { _ = s.proc.Kill() }
	timer := time.AfterFunc(max(s.left, 0), kill)
	stop := context.AfterFunc(ctx, kill)
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

// ended returns why the process is gone.
func (r *request) ended(ctx context.Context, err error) error {
	s := r.session
	if ctx.Err() != nil {
		_ = s.proc.Kill()
		s.dead = ctx.Err()
		return s.dead
	}
	if s.left <= 0 {
		return r.stop(&Error{Limit: "cpu", Message: fmt.Sprintf("the scripts ran too long%s", s.limitText("cpu"))})
	}
	if !errors.Is(err, io.EOF) && errors.Is(err, wire.ErrGarbled) {
		if how := s.exitError(); how == nil || !isLimit(how) {
			return r.protocolErrorLocked(err)
		}
	}
	how := s.exitError()
	e := &Error{err: how}
	var limit interface{ Exceeded() string }
	if errors.As(how, &limit) {
		e.Limit = limit.Exceeded()
	}
	switch {
	case e.Limit != "":
		e.Message = how.Error() + s.limitText(e.Limit)
	case how != nil:
		e.Message = "the scripts' process ended: " + strings.TrimPrefix(how.Error(), "the scripts' process ")
	default:
		e.Message = "the scripts' process ended in the middle of its work"
	}
	return r.stop(e)
}

// isLimit reports whether err names a limit that was exceeded.
func isLimit(err error) bool {
	var limit interface{ Exceeded() string }
	return errors.As(err, &limit) && limit.Exceeded() != ""
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
	_ = s.proc.Kill()
	return <-how
}

// protocolErrorLocked ends a process that violates the protocol.
func (r *request) protocolErrorLocked(err error) error {
	var limit *limitError
	if errors.As(err, &limit) {
		return r.stop(&Error{Limit: limit.limit, Message: limit.message})
	}
	return r.stop(&Error{Message: "the scripts' process violated the protocol: " + err.Error(), err: err})
}

// stop ends the process; e is the error of this request and of all that follow.
func (r *request) stop(e *Error) error {
	s := r.session
	_ = s.proc.Kill()
	e.Event = r.event
	if r.chart >= 0 {
		e.Chart = s.tree.charts[r.chart].name
	}
	e.File, e.Line = splitPosition(r.position())
	s.dead = e
	return e
}

// position returns the position of the script that runs, as far as it is known.
func (r *request) position() string {
	if r.where == "" && r.chart >= 0 {
		return scriptFile
	}
	return r.where
}

// current returns the operation of the last event.
func (s *session) current() *event.Operation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.operation
}
