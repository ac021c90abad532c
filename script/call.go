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

// call runs a handler and applies what it changed. which is what the request says about the
// handler. It returns the answer.
func (s *session) call(ctx context.Context, h handler, e event.Event, which map[string]any) (fields, error) {
	s.conversation.Lock()
	defer s.conversation.Unlock()
	s.operation = e.Data().Operation
	snap := newSnapshot(e)
	r := &request{session: s, event: e.Name(), chart: h.chart, where: h.where, nodes: snap.nodes}
	r.lint, _ = e.(*event.PreLint)
	if e.Mutable().Has(event.Versions) && e.Data().Chart != nil {
		r.assign = snap.assign
	}
	begin := time.Now()
	body := snap.message(s.chartFor(e.Data().Chart, h.chart), e.Mutable())
	maps.Copy(body, which)
	maps.Copy(body, map[string]any{"event": e.Name(), "chart": int64(h.chart.index), "lint": r.lint != nil})
	if err := r.chargeTime(begin); err != nil {
		return nil, err
	}
	done, err := r.run(ctx, wire.Message{Kind: wire.Call, Body: body})
	if err != nil || done["gone"] == true {
		return done, err
	}
	return done, r.carryOut(done, snap, e.Mutable())
}

// carryOut makes the payload what a handler has changed it to.
func (r *request) carryOut(done fields, snap *snapshot, may event.Fields) error {
	begin := time.Now()
	if err := r.chargeMemory(wire.Size(done["changes"], math.MaxInt/2, wire.MaxDepth)); err != nil {
		return err
	}
	ch := &changes{nodes: snap.nodes, left: maxCopies}
	if err := ch.take(done, may); err != nil {
		if readOnly, ok := errors.AsType[*readOnlyError](err); ok {
			return r.changeError(readOnly, nil)
		}
		return r.protocolError(err)
	}
	if err := snap.commit(ch); err != nil {
		items, _ := done.list("items")
		return r.changeError(err, items)
	}
	if err := r.chargeMemory(maxCopies - ch.left); err != nil {
		return err
	}
	if err := r.chargeTime(begin); err != nil {
		return err
	}
	for _, step := range ch.steps {
		step()
	}
	return nil
}

// chargeMemory counts the memory of what scripts made, over all handlers: each of them alone
// is bounded, and there may be thousands. The limit is half of the scripts' own, because
// values take more memory here.
func (r *request) chargeMemory(bytes int) error {
	s := r.session
	most := s.limits.Memory / 2
	if s.memory += int64(bytes); s.memory <= most {
		return nil
	}
	return r.stop(&Error{Limit: "memory",
		Message: fmt.Sprintf("what the scripts changed takes more memory than %d MiB", most>>20)})
}

// chargeTime counts the time that it takes to show a handler its context, and to carry out what
// it changed, as that of the scripts.
func (r *request) chargeTime(begin time.Time) error {
	s := r.session
	if s.left -= time.Since(begin); s.left > 0 {
		return nil
	}
	return r.stop(&Error{Limit: "cpu", Message: "the scripts and what they changed took too long" + s.limitText("cpu")})
}

// chartFor returns the chart of an event's tree that is the loaded chart m, nil where the event
// has no chart.
func (s *session) chartFor(root *chart.Chart, m *treeChart) *chart.Chart {
	switch {
	case root == nil || m == s.tree.top():
		return root
	case m.chart.Root() == root:
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

// assign sets a field of the metadata of the chart that is packed, for a script that does so in
// the context with an ID.
func (s *snapshot) assign(id int64, field string, value any) error {
	name := "chart." + truncate.Bytes(field, 80, "…")
	if n := s.nodes[uint64(id)]; n == nil || n != s.contexts[s.payload.Chart] {
		return fmt.Errorf("%s is read-only: it is the topmost chart that is packed", name)
	}
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("%s must be text", name)
	}
	var err error
	switch field {
	case "version":
		err = chart.ValidateVersion(text)
	case "appVersion":
		err = oneLine(text)
	default:
		return fmt.Errorf("%s is read-only", name)
	}
	if err != nil {
		return fmt.Errorf("%s %w", name, err)
	}
	s.versions[field] = text
	return nil
}

// offerFunctions adds the scripts' functions for templates.
func (s *session) offerFunctions(ctx context.Context, e *event.PreRender) {
	for _, f := range s.registered.Load().functions {
		e.Functions.Add(f.chart.path, f.name, func(args ...any) (any, error) { return s.apply(ctx, f, args) })
	}
}

// apply runs a script's function for a template. Templates render in parallel, scripts run
// one at a time.
func (s *session) apply(ctx context.Context, f function, args []any) (any, error) {
	given, err := newArguments(args)
	if err != nil {
		return nil, err
	}
	s.conversation.Lock()
	defer s.conversation.Unlock()
	r := &request{session: s, event: "template", chart: f.chart, nodes: given.nodes}
	done, err := r.run(ctx, wire.Message{Kind: wire.Template, Body: map[string]any{
		"chart": int64(f.chart.index), "name": f.name, "args": given.values, "contents": given.contents,
	}})
	if err != nil {
		return nil, err
	}
	out, err := new(changes).place(&node{title: f.name, exact: true}, nil, nil, done["result"], 0)
	if err != nil {
		return nil, r.protocolError(err)
	}
	return out, nil
}
