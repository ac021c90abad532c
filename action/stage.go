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

// newOperation returns the event.Operation of a command. caps may be nil, for commands that do not
// render.
func newOperation(command string, dryRun bool, rel engine.Release, caps *engine.Capabilities,
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

// lookupFunc implements the template function lookup; nil finds nothing.
type lookupFunc = func(apiVersion, kind, namespace, name string) (map[string]any, error)

// emitLoaded emits the first events of all operations that run a chart, which start its
// scripts, and chart-loaded. It returns the payload with the chart and the values as handlers
// have left them.
func emitLoaded(ctx context.Context, bus *event.Bus, op *event.Operation, c *chart.Chart,
	vals map[string]any) (event.Payload, error) {
	payload := event.Payload{Operation: op, Chart: c, Values: vals}
	if err := emitResolved(ctx, bus, &event.ChartResolved{Payload: payload}); err != nil {
		return payload, err
	}
	loaded := &event.ChartLoaded{Payload: payload}
	err := bus.Emit(ctx, loaded)
	return loaded.Payload, err
}

// stageFiles prepares c, a chart that will be written, for changes of its files by event handlers.
// Handlers change resolved, the chart tree that rendering uses: disabled dependencies are removed,
// aliases are applied, and each library occurs once. adopt copies the changed files to c. It fails
// if a dependency occurs in resolved under several aliases and was changed differently.
func stageFiles(c, resolved *chart.Chart) (adopt func() error, err error) {
	if _, err := dependency.Libraries(resolved); err != nil {
		return nil, err
	}
	targets := map[*chart.File]*chart.Chart{}
	c.Walk(func(c *chart.Chart) { targets[firstFile(c)] = c })
	delete(targets, nil) // charts without files cannot be identified
	var staged []*stagedChart
	resolved.Walk(func(s *chart.Chart) {
		if target := targets[firstFile(s)]; target != nil {
			staged = append(staged, &stagedChart{chart: s, original: s.Shallow(), target: target})
		}
	})
	return func() error {
		changed := map[*chart.Chart]*stagedChart{} // by target
		for _, s := range staged {
			if !s.changed() {
				continue
			}
			if other := changed[s.target]; other != nil && !other.sameFilesAs(s) {
				return fmt.Errorf("chart %s: scripts changed its files differently under two aliases, %s and %s, "+
					"but it is written once", s.target.Name(), other.chart.Name(), s.chart.Name())
			}
			changed[s.target] = s
			s.target.Templates, s.target.Files, s.target.SchemaYAML = s.chart.Templates, s.chart.Files, s.chart.SchemaYAML
		}
		return nil
	}, nil
}

// firstFile returns a file that identifies a chart and its shallow copies, or nil if it has no
// files.
func firstFile(c *chart.Chart) *chart.File {
	for _, files := range [][]*chart.File{c.Raw, c.Templates, c.Files} {
		if len(files) > 0 {
			return files[0]
		}
	}
	return nil
}

// stagedChart is a chart that handlers may change, a copy from before, and the chart to copy changed
// files to.
type stagedChart struct{ chart, original, target *chart.Chart }

func (s *stagedChart) changed() bool {
	return !slices.Equal(s.original.Templates, s.chart.Templates) || !slices.Equal(s.original.Files, s.chart.Files)
}

// sameFilesAs reports whether s and o have equal files.
func (s *stagedChart) sameFilesAs(o *stagedChart) bool {
	same := func(a, b *chart.File) bool { return a == b || a.Name == b.Name && bytes.Equal(a.Data, b.Data) }
	return slices.EqualFunc(s.chart.Templates, o.chart.Templates, same) &&
		slices.EqualFunc(s.chart.Files, o.chart.Files, same)
}
