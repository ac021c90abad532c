// SPDX-License-Identifier: Apache-2.0

package action

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
)

// operation is what the events of one operation tell about it.
func operation(command string, dryRun bool, rel engine.Release, caps *engine.Capabilities,
	lookup lookupFunc) *event.Operation {
	op := &event.Operation{
		Command: command, DryRun: dryRun,
		Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision, Service: releaseService,
		IsInstall: rel.IsInstall, IsUpgrade: rel.IsUpgrade,
		Lookup: lookup,
	}
	if caps != nil {
		op.HelmVersion = caps.HelmVersion.Version
		op.KubeVersion = caps.KubeVersion.String()
		op.APIVersions = caps.APIVersions
	}
	return op
}

// lookupFunc reads from the cluster; nil finds nothing.
type lookupFunc = func(apiVersion, kind, namespace, name string) (map[string]any, error)

// load emits what every operation that runs a chart begins with: who prepares
// for the chart does so, then chart-loaded. It returns the chart and the values
// that handlers leave.
func load(ctx context.Context, bus *event.Bus, op *event.Operation, c *chart.Chart, vals map[string]any) (event.Payload,
	error) {
	payload := event.Payload{Operation: op, Chart: c, Values: vals}
	if err := emitResolved(ctx, bus, &event.ChartResolved{Payload: payload}); err != nil {
		return payload, err
	}
	loaded := &event.ChartLoaded{Payload: payload}
	err := bus.Emit(ctx, loaded)
	return loaded.Payload, err
}

// stage prepares to write the tree c as handlers leave it. They see its charts
// as they take part: seen, without those that are switched off, under their
// aliases and with each library once. adopt gives c the files that they have
// changed; all of c is written.
func stage(c, seen *chart.Chart) (adopt func() error, err error) {
	if _, err := dependency.Libraries(seen); err != nil {
		return nil, err
	}
	written := map[*chart.File]*chart.Chart{}
	c.Walk(func(c *chart.Chart) { written[firstFile(c)] = c })
	delete(written, nil) // no one knows which it is
	var shown []*staged
	seen.Walk(func(s *chart.Chart) {
		if to := written[firstFile(s)]; to != nil {
			shown = append(shown, &staged{chart: s, was: s.Shallow(), to: to})
		}
	})
	return func() error {
		by := map[*chart.Chart]*staged{}
		for _, s := range shown {
			if !s.changed() {
				continue
			}
			if other := by[s.to]; other != nil && !other.alike(s) {
				return fmt.Errorf("chart %s is written once, and its scripts have changed it differently as %s and as %s",
					s.to.Name(), other.chart.Name(), s.chart.Name())
			}
			by[s.to] = s
			s.to.Templates, s.to.Files, s.to.SchemaYAML = s.chart.Templates, s.chart.Files, s.chart.SchemaYAML
		}
		return nil
	}, nil
}

// firstFile is what a chart and its shallow copies have in common; nil for one
// without files.
func firstFile(c *chart.Chart) *chart.File {
	for _, files := range [][]*chart.File{c.Raw, c.Templates, c.Files} {
		if len(files) > 0 {
			return files[0]
		}
	}
	return nil
}

// staged is a chart as handlers see it, what it was, and where it is written.
type staged struct{ chart, was, to *chart.Chart }

func (s *staged) changed() bool {
	return !slices.Equal(s.was.Templates, s.chart.Templates) || !slices.Equal(s.was.Files, s.chart.Files)
}

// alike reports whether s and o have become the same.
func (s *staged) alike(o *staged) bool {
	same := func(a, b *chart.File) bool { return a == b || a.Name == b.Name && bytes.Equal(a.Data, b.Data) }
	return slices.EqualFunc(s.chart.Templates, o.chart.Templates, same) &&
		slices.EqualFunc(s.chart.Files, o.chart.Files, same)
}
