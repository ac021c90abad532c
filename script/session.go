// SPDX-License-Identifier: Apache-2.0

package script

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

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
	debug  bool

	// talking is held during a request: one side speaks at a time.
	talking sync.Mutex
	clock   clock
	dead    error // why nothing can be asked any more
	ids     uint64
	printed int64
	kept    int64         // bytes, of what scripts made
	asked   int           // of the cluster and of servers
	outside time.Duration // that they took

	mu        sync.Mutex // of what follows
	operation *event.Operation
	handlers  []handler
	functions []function
}

// handler is a script's answer to an event, as the process told of it.
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
		conn:  wire.NewConn(bufio.NewReaderSize(proc, 64<<10), proc),
		clock: clock{left: patience(limits)},
	}, nil
}

// close ends the process. It does not wait for its death, which takes milliseconds
// that the output need not wait for.
func (s *session) close() { _ = s.proc.Kill() }

// start loads all charts' scripts.
func (s *session) start(ctx context.Context) error {
	seed := s.host.Seed
	if seed == 0 {
		seed = rand.Int64()
	}
	var environ []string
	if slices.ContainsFunc(s.tree.charts, func(m *member) bool { return slices.Contains(m.grants, OS) }) {
		if environ = s.host.Environ; environ == nil {
			environ = os.Environ()
		}
	}
	aliases := map[string]any{}
	for name, of := range event.Aliases() {
		aliases[name] = of
	}
	r := &request{session: s, chart: s.tree.culprit()}
	_, err := r.run(ctx, wire.Message{Kind: wire.Start, Body: map[string]any{
		"limits":  limitsBody(s.limits),
		"seed":    seed,
		"events":  texts(event.Names()),
		"aliases": aliases,
		"environ": texts(environ),
		"charts":  s.tree.wire(),
	}})
	return err
}

func limitsBody(l wire.Limits) map[string]any {
	return map[string]any{"cpu": l.CPU.Milliseconds(), "memory": l.Memory, "output": l.Output}
}

// register takes in which handlers and functions there are now, if m tells.
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
		h := handler{where: clip(textOf(b, "where"), maxSource), event: textOf(b, "event")}
		h.id, _ = b["id"].(int64)
		at, ok := s.chartOf(b)
		p, isFloat := b["priority"].(float64)
		if !ok || !isFloat || math.IsNaN(p) || p < 0 || p > 1 || !slices.Contains(event.Names(), h.event) {
			return errors.New("it told of a handler that cannot be")
		}
		h.chart, h.priority = at, p
		handlers = append(handlers, h)
	}
	// Depth first, and for one chart in the order of registration, which is
	// theirs already.
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
			return errors.New("it told of a function that cannot be")
		}
		functions = append(functions, function{at, name})
	}
	s.mu.Lock()
	s.handlers, s.functions = handlers, functions
	s.mu.Unlock()
	return nil
}

// chartOf is the index of a chart that b names.
func (s *session) chartOf(b map[string]any) (int, bool) {
	at, ok := b["chart"].(int64)
	if !ok || at < 0 || at >= int64(len(s.tree.charts)) {
		return 0, false
	}
	return int(at), true
}

// mapsOf is the list of maps of that name in a message.
func mapsOf(body map[string]any, key string) ([]map[string]any, error) {
	l, ok := body[key].([]any)
	if !ok && body[key] != nil {
		return nil, fmt.Errorf("its %s are not list", key)
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

// eventHandlers are the scripts' answers to an event.
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
			Priority: h.priority,
			Handle:   func(ctx context.Context, e event.Event) error { return s.call(ctx, h, e) },
		})
	}
	return out
}

// patience is how long the process may take for its turns in all: more than its
// own limit, which it keeps itself and explains better, and less than twice
// that, by when it must be over.
func patience(l wire.Limits) time.Duration { return l.CPU + l.CPU/2 }

// clock measures the process's turns.
type clock struct{ left time.Duration }

// request is one thing that the process is asked.
type request struct {
	session *session
	// event is what is being answered, "" for none; chart is whose script, -1
	// where no one knows; where is its handler's place.
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

// run asks m and answers what the process asks meanwhile, until it is done.
// What it has to say about handlers is taken in. The error is an [*Error], or
// the context's.
func (r *request) run(ctx context.Context, m wire.Message) (wire.Message, error) {
	s := r.session
	s.talking.Lock()
	defer s.talking.Unlock()
	if s.dead != nil {
		return wire.Message{}, s.dead
	}
	next := &m
	for {
		got, err := s.turn(ctx, next)
		if errors.Is(err, wire.ErrTooLarge) || errors.Is(err, wire.ErrTooMany) || errors.Is(err, wire.ErrDepth) {
			what := "what the scripts made is too much to take: "
			if m.Kind == wire.Start || m.Kind == wire.Check {
				what = "the charts' scripts are too much to take: "
			}
			return wire.Message{}, r.end(&Error{Message: what + err.Error(), err: err})
		}
		if err != nil {
			return wire.Message{}, r.ended(ctx, err)
		}
		switch got.Kind {
		case wire.Done:
			if err := s.register(got); err != nil {
				return wire.Message{}, r.rubbish(err)
			}
			return got, nil
		case wire.Fail:
			failed := s.failure(got, r.event, r.chart, r.place())
			if failed.Limit != "" {
				s.dead = failed
				_ = s.proc.Kill()
			}
			return wire.Message{}, failed
		default:
			begin := time.Now()
			answer, err := r.answer(ctx, got)
			if got.Kind == wire.Load {
				s.clock.left -= time.Since(begin) // others wait for users and servers
			}
			if err != nil {
				return wire.Message{}, r.rubbish(err)
			}
			next = answer
		}
		if err := ctx.Err(); err != nil {
			return wire.Message{}, r.ended(ctx, err)
		}
	}
}

// turn says m, if there is something to say, and waits for what the process
// says. It kills the process when its time is over or the context done.
func (s *session) turn(ctx context.Context, m *wire.Message) (wire.Message, error) {
	if err := ctx.Err(); err != nil {
		return wire.Message{}, err
	}
	kill := func() { _ = s.proc.Kill() }
	timer := time.AfterFunc(max(s.clock.left, 0), kill)
	stop := context.AfterFunc(ctx, kill)
	begin := time.Now()
	defer func() {
		timer.Stop()
		stop()
		s.clock.left -= time.Since(begin)
	}()
	if m != nil {
		if err := s.conn.Send(*m); err != nil {
			return s.lastWord(err)
		}
	}
	return s.conn.Receive()
}

// lastWord is what a process has said that does not listen any more, such as
// the limit that it ended for in the middle of an answer; err where it is
// nothing of the kind.
func (s *session) lastWord(err error) (wire.Message, error) {
	var lost *fs.PathError
	if errors.As(err, &lost) || errors.Is(err, io.ErrClosedPipe) {
		if m, none := s.conn.Receive(); none == nil && m.Kind == wire.Fail {
			return m, nil
		}
	}
	return wire.Message{}, err
}

// ended tells why the process is gone.
func (r *request) ended(ctx context.Context, err error) error {
	s := r.session
	if ctx.Err() != nil {
		_ = s.proc.Kill()
		s.dead = ctx.Err()
		return s.dead
	}
	if s.clock.left <= 0 {
		return r.end(&Error{Limit: "cpu", Message: fmt.Sprintf("the scripts ran too long%s", s.limitText("cpu"))})
	}
	if !errors.Is(err, io.EOF) && errors.Is(err, wire.ErrGarbled) {
		if how := s.fate(); how == nil || !isExit(how) {
			return r.rubbish(err)
		}
	}
	how := s.fate()
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
	return r.end(e)
}

// isExit reports whether the process ended for a reason of its own.
func isExit(err error) bool {
	var limit interface{ Exceeded() string }
	return errors.As(err, &limit) && limit.Exceeded() != ""
}

// fate is how the process ended; one that does not end by itself is ended.
func (s *session) fate() error {
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

// rubbish ends a process that says what it must not say.
func (r *request) rubbish(err error) error {
	var limit *exceeded
	if errors.As(err, &limit) {
		return r.end(&Error{Limit: limit.limit, Message: limit.message})
	}
	return r.end(&Error{Message: "the scripts' process said what makes no sense: " + err.Error(), err: err})
}

// end makes e the last word: the process is of no more use.
func (r *request) end(e *Error) error {
	s := r.session
	_ = s.proc.Kill()
	e.Event = r.event
	if r.chart >= 0 {
		e.Chart = s.tree.charts[r.chart].name
	}
	e.File, e.Line = splitPlace(r.place())
	s.dead = e
	return e
}

// place is the best that is known of where the script stands that runs.
func (r *request) place() string {
	if r.where == "" && r.chart >= 0 {
		return scriptFile
	}
	return r.where
}

// current is the operation that events tell about.
func (s *session) current() *event.Operation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.operation
}
