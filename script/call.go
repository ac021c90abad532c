// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/script/wire"
)

// call runs a handler and applies what it changed.
func (s *session) call(ctx context.Context, h handler, e event.Event) error {
	_, err := s.callWith(ctx, h, e, map[string]any{"handler": h.id})
	return err
}

// callWith is [session.call] with what more is said about the handler. It returns the answer.
func (s *session) callWith(ctx context.Context, h handler, e event.Event,
	body map[string]any) (done wire.Message, err error) {
	s.mu.Lock()
	s.operation = e.Data().Operation
	s.mu.Unlock()
	snap := newSnapshot(e, &s.ids)
	c := s.chartFor(e.Data().Chart, h.chart)
	top := c != nil && c.IsRoot()
	r := &request{session: s, event: e.Name(), chart: h.chart, where: h.where, nodes: &snap.nodes}
	var versions versions
	if e.Mutable().Has(event.Versions) && e.Data().Chart != nil {
		r.assign = func(id int64, field string, value any) error {
			return versions.assign(snap.byID[uint64(id)], snap.contexts[e.Data().Chart], field, value)
		}
	}
	lint := false
	if e, ok := e.(*event.PreLint); ok {
		lint = true
		r.lint = &lintSink{warn: e.Warn, fail: e.Fail}
	}
	begin := time.Now()
	maps.Copy(body, map[string]any{
		"event": e.Name(), "chart": int64(h.chart), "context": snap.ref(snap.contextOf(c)),
		"contents": snap.contents(c, e.Mutable()), "may": mutable(e.Mutable(), top), "lint": lint,
	})
	if err := r.chargeTime(time.Since(begin)); err != nil {
		return done, err
	}
	done, err = r.run(ctx, wire.Message{Kind: wire.Call, Body: body})
	if err != nil {
		return done, err
	}
	if gone, _ := done.Body["gone"].(bool); gone {
		return done, nil
	}
	begin = time.Now()
	if err := r.chargeMemory(wire.Size(done.Body["changes"], math.MaxInt/2, wire.MaxDepth)); err != nil {
		return done, err
	}
	ch := &changes{nodes: snap.nodes, left: maxCopies}
	if err := ch.take(done.Body, e.Mutable()); err != nil {
		var readOnly *readOnlyError
		if errors.As(err, &readOnly) {
			return done, r.changeError(err, nil)
		}
		return done, r.protocolError(err)
	}
	apply, err := snap.commit(ch)
	if err != nil {
		items, _ := mapsOf(done.Body, "items")
		return done, r.changeError(err, items)
	}
	if err := r.chargeMemory(maxCopies - ch.left); err != nil {
		return done, err
	}
	if err := r.chargeTime(time.Since(begin)); err != nil {
		return done, err
	}
	apply()
	versions.commit(e.Data().Chart)
	return done, nil
}

// chargeMemory counts the memory of what scripts made, over all handlers: each of them alone
// is bounded, and there may be thousands. The limit is half of the scripts' own, because
// values take more memory here.
func (r *request) chargeMemory(bytes int) error {
	s := r.session
	s.conversation.Lock()
	defer s.conversation.Unlock()
	most := s.limits.Memory / 2
	if s.memory += int64(bytes); s.memory <= most {
		return nil
	}
	return r.stop(&Error{Limit: "memory",
		Message: fmt.Sprintf("what the scripts changed takes more memory than %d MiB", most>>20)})
}

// chargeTime counts the time that it takes to carry out what a handler changed as that of the
// scripts.
func (r *request) chargeTime(d time.Duration) error {
	s := r.session
	s.conversation.Lock()
	defer s.conversation.Unlock()
	if s.left -= d; s.left > 0 {
		return nil
	}
	return r.stop(&Error{Limit: "cpu", Message: "the scripts and what they changed took too long" + s.limitText("cpu")})
}

// protocolError is [request.protocolErrorLocked] for a caller outside of run.
func (r *request) protocolError(err error) error {
	r.session.conversation.Lock()
	defer r.session.conversation.Unlock()
	return r.protocolErrorLocked(err)
}

// chartFor returns the chart of an event's tree that is the loaded chart of that index, nil
// where the event has no chart.
func (s *session) chartFor(root *chart.Chart, at int) *chart.Chart {
	if root == nil {
		return nil
	}
	m := s.tree.charts[at]
	if m.parent < 0 || m.chart.Root() == root {
		if m.parent < 0 {
			return root
		}
		return m.chart
	}
	found := m.chart
	root.Walk(func(c *chart.Chart) {
		if c.FullPath() == m.path {
			found = c
		}
	})
	return found
}

// versions are the fields of its chart's metadata that a script has set.
type versions struct{ version, appVersion *string }

// assign sets a field of the context n. root is the context of the chart that is packed.
func (v *versions) assign(n, root *node, field string, value any) error {
	if n == nil || n != root {
		return fmt.Errorf("chart.%s is read-only: it is the topmost chart that is packed", truncate.Bytes(field, 80, "…"))
	}
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("chart.%s must be text", truncate.Bytes(field, 80, "…"))
	}
	switch field {
	case "version":
		if err := chart.ValidateVersion(text); err != nil {
			return fmt.Errorf("chart.version %w", err)
		}
		v.version = &text
	case "appVersion":
		if err := oneLine(text); err != nil {
			return fmt.Errorf("chart.appVersion %w", err)
		}
		v.appVersion = &text
	default:
		return fmt.Errorf("chart.%s is read-only", truncate.Bytes(field, 80, "…"))
	}
	return nil
}

func (v *versions) commit(c *chart.Chart) {
	if c == nil || v.version == nil && v.appVersion == nil {
		return
	}
	md := metadata(c)
	if v.version != nil {
		md.Version = *v.version
	}
	if v.appVersion != nil {
		md.AppVersion = *v.appVersion
	}
	c.Metadata = &md
}

// metadata returns a copy of the chart's metadata.
func metadata(c *chart.Chart) chart.Metadata {
	if c.Metadata == nil {
		return chart.Metadata{}
	}
	return *c.Metadata
}

// offerFunctions adds the scripts' functions for templates.
func (s *session) offerFunctions(ctx context.Context, e *event.PreRender) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.functions {
		m := s.tree.charts[f.chart]
		e.Functions.Add(m.path, f.name, func(args ...any) (any, error) { return s.apply(ctx, f, args) })
	}
}

// apply runs a script's function for a template. Templates render in parallel, scripts run
// one at a time.
func (s *session) apply(ctx context.Context, f function, args []any) (any, error) {
	given, err := newArguments(args)
	if err != nil {
		return nil, err
	}
	r := &request{session: s, event: "template", chart: f.chart, nodes: &given.nodes}
	done, err := r.run(ctx, wire.Message{Kind: wire.Template, Body: map[string]any{
		"chart": int64(f.chart), "name": f.name, "args": given.values, "contents": given.contents,
	}})
	if err != nil {
		return nil, err
	}
	out, err := new(changes).place(&node{title: f.name, exact: true}, nil, nil, done.Body["result"], 0)
	if err != nil {
		return nil, r.protocolError(err)
	}
	return out, nil
}
