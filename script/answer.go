// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/script/wire"
)

// Limits of an operation's questions to the cluster and to servers.
const (
	maxQuestions = 10_000
	maxWait      = 5 * time.Minute
)

// answer returns the answer to a message of the process in the middle of a request, nil
// for one that needs none. An error is returned for a violation of the protocol, and an
// [*Error] for a limit that is reached.
func (r *request) answer(ctx context.Context, m wire.Message) (*wire.Message, error) {
	body := fields(m.Body)
	switch m.Kind {
	case wire.Load:
		return r.load(body)
	case wire.Print:
		return nil, r.print(body)
	case wire.Finding:
		return nil, r.finding(body)
	case wire.Assign:
		if r.assign == nil {
			return nil, errors.New("it assigned to a chart outside of a handler")
		}
		return reply(map[string]any{}, r.assign(body.number("context"), body.text("field"), body["value"])), nil
	case wire.Run:
		return r.runTest(ctx, body)
	case wire.Lookup, wire.HTTP, wire.Host:
		return r.askExternal(ctx, m.Kind, body)
	}
	return nil, fmt.Errorf("unexpected %s message", m.Kind)
}

// load returns the content of a node, and of what it leads to as long as it is small.
func (r *request) load(question fields) (*wire.Message, error) {
	id := question.number("id")
	n := r.nodes[uint64(id)]
	if n == nil {
		return nil, fmt.Errorf("it asked for unknown node %d", id)
	}
	if key, ok := question["key"].(string); ok {
		if field, ok := n.scalarOf(key); ok {
			return reply(field, nil), nil
		}
	}
	v, err := r.nodes.content(n)
	if err != nil {
		return reply(nil, err), nil
	}
	n.sent = true
	from := n
	if n.parent != nil && n.parent.items {
		from = n.parent // a script that looks at one item looks at the others
	}
	body := map[string]any{"value": v, "contents": r.nodes.along(from, maxInline, true)}
	if err := fits(body); err != nil {
		return reply(nil, fmt.Errorf("%s: %w", n.name(), err)), nil
	}
	return &wire.Message{Kind: wire.Answer, Body: body}, nil
}

// print shows what a script printed, line by line.
func (r *request) print(said fields) error {
	s := r.session
	of := s.tree.chartOf(said)
	text, isText := said["text"].(string)
	if of == nil || !isText {
		return errors.New("it printed for an unknown chart")
	}
	if err := s.countOutput(len(text)); err != nil {
		return err
	}
	if s.host.Print == nil {
		return nil
	}
	name := term.SafeLine(of.name)
	for line := range strings.Lines(text + "\n") {
		s.host.Print(name, strings.ReplaceAll(term.Safe(strings.TrimRight(line, "\r\n")), "\r", `\x0d`))
	}
	return nil
}

// countOutput counts what scripts print and report, as the process does. That enforces the
// limit itself; here it is enforced once more, somewhat wider.
func (s *session) countOutput(bytes int) error {
	s.output += int64(bytes) + wire.LineCost
	if s.output > s.limits.Output+s.limits.Output/2 {
		return &Error{Limit: "output",
			Message: fmt.Sprintf("the scripts printed more than %d bytes, the limit for an operation", s.limits.Output)}
	}
	return nil
}

// Printer returns a [Host.Print] that writes lines such as "[mysql] hello" to w.
func Printer(w io.Writer) func(chart, line string) {
	return func(chart, line string) { fmt.Fprintf(w, "[%s] %s\n", chart, line) }
}

// finding adds a finding of lint.
func (r *request) finding(said fields) error {
	if r.lint == nil {
		return errors.New("it reported a finding outside of lint")
	}
	add := r.lint.Warn
	switch severity := said.text("severity"); severity {
	case "warning":
	case "error":
		add = r.lint.Fail
	default:
		return fmt.Errorf("it reported a finding of unknown severity %q", truncate.Bytes(severity, 40, "…"))
	}
	if err := r.session.countOutput(len(said.text("path")) + len(said.text("text"))); err != nil {
		return err
	}
	if add != nil {
		add(term.SafeLine(said.short("path", maxSource)), said.short("text", maxMessage))
	}
	return nil
}

// askExternal asks the cluster or a server for a script. The time of the answer is not the
// scripts' own, but it is limited too.
func (r *request) askExternal(ctx context.Context, kind wire.Kind, question fields) (*wire.Message, error) {
	s := r.session
	if s.questions++; s.questions > maxQuestions {
		return nil, &Error{Limit: "time",
			Message: fmt.Sprintf("the scripts asked the cluster and servers more than %d times", maxQuestions)}
	}
	if s.waited >= maxWait {
		return nil, &Error{Limit: "time",
			Message: fmt.Sprintf("the scripts waited for the cluster and for servers for more than %s", maxWait)}
	}
	begin := time.Now()
	defer func() { s.waited += time.Since(begin) }()
	ctx, cancel := context.WithTimeout(ctx, maxWait-s.waited)
	defer cancel()
	if of := s.tree.chartOf(question); kind != wire.Lookup && (of == nil || !slices.Contains(of.grants, Network)) {
		return reply(nil, fmt.Errorf("the chart has no permission %q: %s asks for it", Network, filePermissions)), nil
	}
	return reply(s.outside().Answer(ctx, kind, question)), nil
}

// outside returns what answers the scripts' questions.
func (s *session) outside() Outside {
	o := Outside{Transport: s.host.Transport, resolve: s.host.Resolve}
	if op := s.operation; op != nil && op.Lookup != nil {
		o.Lookup = func(_ context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
			return op.Lookup(apiVersion, kind, namespace, name)
		}
	}
	return o
}
