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
	"github.com/moonhelm/moonhelm/script/wire"
)

const scriptFile = chart.FileScript

// Bounds of what an operation's scripts have others do for them, the cluster
// and servers: how often, and how long in all.
const (
	maxQuestions = 10_000
	maxOutside   = 5 * time.Minute
)

// answer answers what the process asks or says in the middle of a request; nil
// for what needs no answer. An error is about a process that says what it must
// not.
func (r *request) answer(ctx context.Context, m wire.Message) (*wire.Message, error) {
	switch m.Kind {
	case wire.Load:
		return r.load(m)
	case wire.Print:
		return nil, r.printed(m)
	case wire.Finding:
		return nil, r.finding(m)
	case wire.Assign:
		if r.assign == nil {
			return nil, errors.New("it assigned to a chart that is not shown")
		}
		id, _ := m.Body["context"].(int64)
		if err := r.assign(id, textOf(m.Body, "field"), m.Body["value"]); err != nil {
			return refuse(err), nil
		}
		return &wire.Message{Kind: wire.Answer, Body: map[string]any{}}, nil
	case wire.Lookup, wire.HTTP, wire.Host:
		return r.outsideAnswer(ctx, m)
	}
	return nil, fmt.Errorf("%s is not to be said here", m.Kind)
}

func refuse(err error) *wire.Message {
	return &wire.Message{Kind: wire.Refuse, Body: map[string]any{"message": clip(err.Error(), maxMessage)}}
}

// load returns the content of a node.
func (r *request) load(m wire.Message) (*wire.Message, error) {
	id, ok := m.Body["id"].(int64)
	if !ok || r.nodes == nil || r.nodes.byID[uint64(id)] == nil {
		return nil, fmt.Errorf("it asked for number %d, which was not offered", id)
	}
	n := r.nodes.byID[uint64(id)]
	v, err := r.nodes.content(n)
	if err != nil {
		return refuse(err), nil
	}
	body := map[string]any{"value": v}
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

// printed shows what a script printed, line by line.
func (r *request) printed(m wire.Message) error {
	s := r.session
	at, ok := s.chartOf(m.Body)
	text, isText := m.Body["text"].(string)
	if !ok || !isText {
		return errors.New("it printed nothing for nobody")
	}
	if err := s.said(text); err != nil {
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

// said counts what scripts have to say. The process keeps the limit itself;
// here it is kept once more, somewhat wider.
func (s *session) said(text string) error {
	s.printed += int64(len(text)) + 1
	if s.printed > s.limits.Output+s.limits.Output/2 {
		return &exceeded{"output",
			fmt.Sprintf("the scripts printed more than %d bytes, the limit for an operation", s.limits.Output)}
	}
	return nil
}

// exceeded is an error about a limit.
type exceeded struct{ limit, message string }

func (e *exceeded) Error() string { return e.message }

// Printer returns a [Host.Print] that writes lines such as "[mysql] hello" to w.
func Printer(w io.Writer) func(chart, line string) {
	return func(chart, line string) { fmt.Fprintf(w, "[%s] %s\n", chart, line) }
}

// finding adds to what lint found.
func (r *request) finding(m wire.Message) error {
	if r.lint == nil {
		return errors.New("it found something where nothing is looked for")
	}
	add := r.lint.warn
	switch severity := textOf(m.Body, "severity"); severity {
	case "warning":
	case "error":
		add = r.lint.fail
	default:
		return fmt.Errorf("it found something of severity %q", clip(severity, 40))
	}
	s := r.session
	text := textOf(m.Body, "text")
	if err := s.said(text); err != nil {
		return err
	}
	if add != nil {
		add(term.SafeLine(clip(textOf(m.Body, "path"), maxSource)), clip(text, maxMessage))
	}
	return nil
}

// outsideAnswer asks the cluster or a server for a script. How long they take
// does not count against the scripts, but there is an end to it.
func (r *request) outsideAnswer(ctx context.Context, m wire.Message) (*wire.Message, error) {
	s := r.session
	if s.asked++; s.asked > maxQuestions {
		return nil, &exceeded{"time",
			fmt.Sprintf("the scripts asked the cluster and servers more than %d times", maxQuestions)}
	}
	if s.outside >= maxOutside {
		return nil, &exceeded{"time",
			fmt.Sprintf("the scripts waited for the cluster and for servers for more than %s", maxOutside)}
	}
	begin := time.Now()
	defer func() { s.outside += time.Since(begin) }()
	ctx, cancel := context.WithTimeout(ctx, maxOutside-s.outside)
	defer cancel()
	var body map[string]any
	var err error
	switch m.Kind {
	case wire.Lookup:
		body, err = r.lookup(m)
	case wire.HTTP:
		if err = r.granted(m, Network); err == nil {
			body, err = r.session.host.fetch(ctx, m.Body)
		}
	default:
		if err = r.granted(m, Network); err == nil {
			body, err = lookupHost(ctx, textOf(m.Body, "name"))
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

// granted tells why a chart may not do what it wants to do.
func (r *request) granted(m wire.Message, permission string) error {
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

func lookupHost(ctx context.Context, name string) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(addrs))
	for i, a := range addrs {
		out[i] = a
	}
	return map[string]any{"addresses": out}, nil
}
