// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/script/wire"
)

const scriptFile = chart.FileScript

// Limits of an operation's questions to the cluster and to servers.
const (
	maxQuestions = 10_000
	maxWait      = 5 * time.Minute
)

// answer returns the answer to a message of the process in the middle of a request, nil
// for one that needs none. An error is returned for a violation of the protocol.
func (r *request) answer(ctx context.Context, m wire.Message) (*wire.Message, error) {
	switch m.Kind {
	case wire.Load:
		return r.load(m)
	case wire.Print:
		return nil, r.print(m)
	case wire.Finding:
		return nil, r.finding(m)
	case wire.Assign:
		if r.assign == nil {
			return nil, errors.New("it assigned to a chart outside of a handler")
		}
		id, _ := m.Body["context"].(int64)
		if err := r.assign(id, textOf(m.Body, "field"), m.Body["value"]); err != nil {
			return refuse(err), nil
		}
		return &wire.Message{Kind: wire.Answer, Body: map[string]any{}}, nil
	case wire.Run:
		return r.runTest(ctx, m)
	case wire.Lookup, wire.HTTP, wire.Host:
		return r.askExternal(ctx, m)
	}
	return nil, fmt.Errorf("unexpected %s message", m.Kind)
}

func refuse(err error) *wire.Message {
	return &wire.Message{Kind: wire.Refuse, Body: map[string]any{"message": truncate.Bytes(err.Error(), maxMessage, "…")}}
}

// load returns the content of a node, and of what it leads to as long as it is small.
func (r *request) load(m wire.Message) (*wire.Message, error) {
	id, ok := m.Body["id"].(int64)
	if !ok || r.nodes == nil || r.nodes.byID[uint64(id)] == nil {
		return nil, fmt.Errorf("it asked for unknown node %d", id)
	}
	n := r.nodes.byID[uint64(id)]
	if key, ok := m.Body["key"].(string); ok {
		if v, there, ok := n.scalarOf(key); ok && there {
			return &wire.Message{Kind: wire.Answer, Body: map[string]any{"field": v}}, nil
		} else if ok {
			return &wire.Message{Kind: wire.Answer, Body: map[string]any{}}, nil
		}
	}
	v, err := r.nodes.content(n)
	if err != nil {
		return refuse(err), nil
	}
	n.sent = true
	from := n
	if n.parent != nil && n.parent.items {
		from = n.parent // a script that looks at one item looks at the others
	}
	body := map[string]any{"value": v, "contents": r.nodes.along(from, maxInline, true)}
	if err := fits(body); err != nil {
		return refuse(fmt.Errorf("%s: %w", n.name(), err)), nil
	}
	return &wire.Message{Kind: wire.Answer, Body: body}, nil
}

// fits returns an error for an answer that cannot be sent.
func fits(v any) error {
	if wire.Size(v, wire.MaxFrame/2, wire.MaxDepth-2) < wire.MaxFrame/2 {
		return nil
	}
	b, err := wire.Append(nil, v)
	if err == nil && len(b) > wire.MaxFrame-1024 {
		err = wire.ErrTooLarge
	}
	return err
}

// print shows what a script printed, line by line.
func (r *request) print(m wire.Message) error {
	s := r.session
	at, ok := s.chartOf(m.Body)
	text, isText := m.Body["text"].(string)
	if !ok || !isText {
		return errors.New("it printed for an unknown chart")
	}
	if err := s.countOutput(text); err != nil {
		return err
	}
	if s.host.Print == nil {
		return nil
	}
	name := term.SafeLine(s.tree.charts[at].name)
	for line := range strings.Lines(text + "\n") {
		s.host.Print(name, strings.ReplaceAll(term.Safe(strings.TrimRight(line, "\r\n")), "\r", `\x0d`))
	}
	return nil
}

// countOutput counts what scripts print and report. The process enforces the limit itself;
// here it is enforced once more, somewhat wider.
func (s *session) countOutput(text string) error {
	s.output += int64(len(text)) + 1
	if s.output > s.limits.Output+s.limits.Output/2 {
		return &limitError{"output",
			fmt.Sprintf("the scripts printed more than %d bytes, the limit for an operation", s.limits.Output)}
	}
	return nil
}

// limitError is returned where a limit is exceeded.
type limitError struct{ limit, message string }

func (e *limitError) Error() string { return e.message }

// Printer returns a [Host.Print] that writes lines such as "[mysql] hello" to w.
func Printer(w io.Writer) func(chart, line string) {
	return func(chart, line string) { fmt.Fprintf(w, "[%s] %s\n", chart, line) }
}

// finding adds a finding of lint.
func (r *request) finding(m wire.Message) error {
	if r.lint == nil {
		return errors.New("it reported a finding outside of lint")
	}
	add := r.lint.warn
	switch severity := textOf(m.Body, "severity"); severity {
	case "warning":
	case "error":
		add = r.lint.fail
	default:
		return fmt.Errorf("it reported a finding of unknown severity %q", truncate.Bytes(severity, 40, "…"))
	}
	s := r.session
	text := textOf(m.Body, "text")
	if err := s.countOutput(text); err != nil {
		return err
	}
	if add != nil {
		add(term.SafeLine(truncate.Bytes(textOf(m.Body, "path"), maxSource, "…")), truncate.Bytes(text, maxMessage, "…"))
	}
	return nil
}

// askExternal asks the cluster or a server for a script. The time of the answer is not the
// scripts' own, but it is limited too.
func (r *request) askExternal(ctx context.Context, m wire.Message) (*wire.Message, error) {
	s := r.session
	if s.questions++; s.questions > maxQuestions {
		return nil, &limitError{"time",
			fmt.Sprintf("the scripts asked the cluster and servers more than %d times", maxQuestions)}
	}
	if s.waited >= maxWait {
		return nil, &limitError{"time",
			fmt.Sprintf("the scripts waited for the cluster and for servers for more than %s", maxWait)}
	}
	begin := time.Now()
	defer func() { s.waited += time.Since(begin) }()
	ctx, cancel := context.WithTimeout(ctx, maxWait-s.waited)
	defer cancel()
	var body map[string]any
	var err error
	switch m.Kind {
	case wire.Lookup:
		body, err = r.lookup(m)
	case wire.HTTP:
		if err = r.checkGrant(m, Network); err == nil {
			body, err = r.session.host.fetch(ctx, m.Body)
		}
	default:
		if err = r.checkGrant(m, Network); err == nil {
			body, err = r.session.host.lookupHost(ctx, textOf(m.Body, "name"))
		}
	}
	if err == nil {
		err = fits(body)
	}
	if err != nil {
		return refuse(err), nil
	}
	return &wire.Message{Kind: wire.Answer, Body: body}, nil
}

// checkGrant returns an error for a chart without a permission.
func (r *request) checkGrant(m wire.Message, permission string) error {
	at, ok := r.session.chartOf(m.Body)
	if !ok || !slices.Contains(r.session.tree.charts[at].grants, permission) {
		return fmt.Errorf("the chart has no permission %q: %s asks for it", permission, filePermissions)
	}
	return nil
}

func (r *request) lookup(m wire.Message) (map[string]any, error) {
	found := map[string]any{}
	if op := r.session.current(); op != nil && op.Lookup != nil {
		got, err := op.Lookup(textOf(m.Body, "apiVersion"), textOf(m.Body, "kind"), textOf(m.Body, "namespace"),
			textOf(m.Body, "name"))
		if err != nil {
			return nil, err
		}
		if got != nil {
			found = got
		}
	}
	v, err := plain(found, true, 0)
	return map[string]any{"value": v}, err
}

func (h *Host) lookupHost(ctx context.Context, name string) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	resolve := net.DefaultResolver.LookupHost
	if h.Resolve != nil {
		resolve = h.Resolve
	}
	addrs, err := resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(addrs))
	for i, a := range addrs {
		out[i] = a
	}
	return map[string]any{"addresses": out}, nil
}
