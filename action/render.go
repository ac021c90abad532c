// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/chart/schema"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// Rendered is the result of rendering a chart.
type Rendered struct {
	// Chart is the chart as rendered: without disabled dependencies, and with aliases as
	// names.
	Chart *chart.Chart
	// Values are the final values of the root chart.
	Values map[string]any
	// Objects are the objects without hooks, in install order.
	Objects []*manifest.Object
	// Hooks are the hooks, in install order of their kinds.
	Hooks []*release.Hook
	Notes string

	// files are what the templates have rendered. They share their text with Objects.
	files       []engine.File
	moves       []plan.Move
	explanation *Explanation
	patched     []Patched
	// payload is the payload of the next event. Its Objects include hooks.
	payload event.Payload
}

// Explanation returns where the lines of r come from, or nil if the request did not ask for it.
func (r *Rendered) Explanation() *Explanation { return r.explanation }

// Patched returns what patches have changed, in their order.
func (r *Rendered) Patched() []Patched { return r.patched }

// rendering renders a chart, with the events from chart-loaded to post-render. All operations
// that render use it.
type rendering struct {
	*Config
	events  lifecycle
	command string
	dryRun  bool

	resolved     *values.Resolved
	release      engine.Release
	capabilities *engine.Capabilities
	lookup       lookupFunc
	lookupHost   func(host string) string
	skipSchema   bool
	subNotes     bool
	preview      Preview
	check        valueCheck
	// explanation is nil unless it is asked for.
	explanation *Explanation
	coverage    *engine.Coverage // nil records nothing
	patches     PatchOptions
}

// resolveValues merges the user's values over the chart's, removes disabled dependencies, and
// keeps one copy of each library. It returns a new tree and its final values.
func resolveValues(c *chart.Chart, user map[string]any, report progress.Func) (*values.Resolved, error) {
	if c.IsLibrary() {
		return nil, &LibraryError{Chart: c.Name()}
	}
	if err := checkDependencies(c); err != nil {
		return nil, err
	}
	res, err := values.Resolve(c, user)
	if err != nil {
		return nil, err
	}
	if _, err := dependency.Libraries(res.Chart); err != nil {
		return nil, err
	}
	for _, w := range slices.Concat(res.Misfits, res.Warnings) {
		report.Send(progress.Event{Kind: progress.Warning, Text: w})
	}
	return res, nil
}

// run emits chart-loaded and pre-render, renders the templates, and emits post-render.
func (r rendering) run(ctx context.Context) (*Rendered, error) {
	r.check.cache = &engine.Cache{} // templates that the check parses are parsed once
	if r.events.scripts != nil && r.resolved.Chart.HasScripts() {
		ahead, stop := context.WithCancel(ctx)
		ended := r.check.cache.ParseAhead(ahead, r.resolved.Chart) // while the process of the scripts starts
		defer func() {
			stop()
			<-ended
		}()
	}
	pre, err := r.prepare(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.check.run(ctx, pre, r.Progress); err != nil {
		return nil, err
	}
	var (
		out     *engine.Output
		objects []*manifest.Object
		names   = newMovedNames(pre.Chart)
	)
	err = runSteps(ctx,
		r.events.handleStep(pre, event.Rendering,
			func(ctx context.Context) (err error) { out, err = r.renderTemplates(ctx, pre, names); return err }),
		r.events.handleStep(pre, event.Parsing,
			func(context.Context) (err error) { objects, err = parseRendered(pre.Chart, out.Files); return err }),
	)
	if err != nil {
		return nil, err
	}
	if r.explanation != nil {
		r.explanation.rendered(out, objects)
	}
	// The sort is stable: objects that handlers do not change keep their order.
	objects = append(objects, pre.Objects...)
	manifest.SortInstall(objects)
	post := &event.PostRender{Payload: pre.Payload}
	post.Objects = objects
	if err := r.events.Emit(ctx, post); err != nil {
		return nil, err
	}
	patched, err := r.patch(ctx, post)
	if err != nil {
		return nil, err
	}
	if err := r.postRender(ctx, post); err != nil {
		return nil, err
	}
	r.warnOfHooks(post.Objects)
	rendered := &Rendered{payload: post.Payload, Chart: pre.Chart, Values: pre.Values, files: out.Files,
		explanation: r.explanation, patched: patched,
		Notes: joinNotes(pre.Chart, out.Notes, r.subNotes)}
	rendered.setObjects(post.Objects)
	if names != nil {
		rendered.moves = names.moves
	}
	return rendered, nil
}

// prepare emits chart-loaded and pre-render. The core handles pre-render after the scripts, so
// that it validates the values that they set.
func (r rendering) prepare(ctx context.Context) (*event.PreRender, error) {
	op := newOperation(r.command, r.dryRun, r.release, r.capabilities, r.lookup)
	payload, err := emitLoaded(ctx, r.events.Bus, op, r.resolved.Chart, r.resolved.Values)
	if err != nil {
		return nil, err
	}
	pre := &event.PreRender{Payload: payload}
	return pre, runSteps(ctx,
		r.events.emitStep(pre),
		func(ctx context.Context) error { return r.events.Functions(ctx, pre) },
		func(ctx context.Context) error { return r.checkKubeVersion(ctx, pre) },
		func(ctx context.Context) error { return r.validateSchema(ctx, pre) },
	)
}

func (r rendering) checkKubeVersion(ctx context.Context, e *event.PreRender) error {
	return r.events.HandleCore(ctx, e, event.KubeVersion, func(context.Context) error {
		return checkKubeVersion(e.Chart, r.capabilities)
	})
}

func (r rendering) validateSchema(ctx context.Context, e *event.PreRender) error {
	if r.skipSchema {
		return nil
	}
	return r.events.HandleCore(ctx, e, event.SchemaValidation, func(context.Context) error {
		return schema.Validate(e.Chart, r.resolved.Rounded(e.Values))
	})
}

// postRender runs the post-renderer after all scripts.
func (r rendering) postRender(ctx context.Context, e *event.PostRender) error {
	if r.PostRenderer == nil {
		return nil
	}
	return r.events.HandleCore(ctx, e, event.PostRenderer, func(ctx context.Context) error {
		objects, err := r.PostRenderer.Render(ctx, e.Objects)
		if err == nil {
			e.Objects = objects
		}
		return err
	})
}

func (r rendering) renderTemplates(ctx context.Context, pre *event.PreRender, names *movedNames) (*engine.Output,
	error) {
	out, err := engine.Render(ctx, engine.Input{
		Chart:        names.addTo(pre.Chart),
		Values:       r.resolved.Rounded(pre.Values),
		Rounded:      true,
		Release:      r.release,
		Capabilities: r.capabilities,
		Lookup:       r.lookup,
		LookupHost:   r.lookupHost,
		Functions:    pre.Functions,
		Cache:        r.check.cache,
		Trace:        r.explanation != nil,
		Coverage:     r.coverage,
	})
	if err == nil {
		names.takeFrom(out)
	}
	return out, err
}

// warnOfHooks warns of hook annotations without effect.
func (r rendering) warnOfHooks(objects []*manifest.Object) {
	for _, o := range objects {
		for _, text := range release.HookWarnings(o) {
			r.warn(fmt.Sprintf("%s (%s): %s", o, o.Source, text))
		}
	}
}

// parseRendered returns the objects of the rendered files of a chart. Its errors name the lines of
// the templates.
func parseRendered(c *chart.Chart, files []engine.File) ([]*manifest.Object, error) {
	objects, err := parseObjects(files)
	if err != nil {
		newTemplates(c, files).locate(err)
	}
	return objects, err
}

func parseObjects(files []engine.File) ([]*manifest.Object, error) {
	var objects []*manifest.Object
	for _, f := range files {
		objs, err := manifest.Parse(f.Name, f.Content)
		if err != nil {
			return nil, err
		}
		objects = append(objects, objs...)
	}
	return objects, nil
}

// setObjects sets the objects and hooks of r, both in install order.
func (r *Rendered) setObjects(all []*manifest.Object) {
	r.payload.Objects, r.Hooks, r.Objects = splitHooks(all)
}

// splitHooks sorts objects in install order, and separates the hooks from the others. The sort
// is stable, also for objects that handlers have added.
func splitHooks(objects []*manifest.Object) (all []*manifest.Object, hooks []*release.Hook, rest []*manifest.Object) {
	all = slices.Clone(objects)
	manifest.SortInstall(all)
	hooks, rest = release.SplitHooks(all)
	return all, hooks, rest
}

// joinNotes returns the root chart's NOTES.txt, followed by those of its subcharts if sub is
// set.
func joinNotes(root *chart.Chart, files []engine.File, sub bool) string {
	var b strings.Builder
	for _, f := range files {
		if !sub && f.Name != root.Name()+"/"+chart.DirTemplates+"/"+chart.FileNotes {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(f.Content)
	}
	return b.String()
}

// checkKubeVersion returns a [*KubeVersionError] if the cluster's version is not in the root
// chart's kubeVersion range. As in Helm, it ignores the ranges of subcharts.
func checkKubeVersion(c *chart.Chart, caps *engine.Capabilities) error {
	want := c.Metadata.KubeVersion
	if want == "" {
		return nil
	}
	constraint, err := semver.NewConstraint(want)
	if err != nil {
		return fmt.Errorf("chart requires kubeVersion: %s which is not a valid range of versions (%s of chart %s)", want,
			chart.FileMetadata, c.Name())
	}
	have := caps.KubeVersion.String()
	v, err := semver.NewVersion(have)
	if err != nil || !constraint.Check(v) {
		return &KubeVersionError{Chart: c.Name(), Want: want, Have: have}
	}
	return nil
}

// checkDependencies returns an error if dependencies of a chart are missing.
func checkDependencies(c *chart.Chart) error {
	if names := values.Missing(c); len(names) > 0 {
		for i, name := range names {
			if name == "" {
				names[i] = "one without a name"
			}
		}
		return &MissingDependenciesError{Chart: c.Name(), Missing: names}
	}
	return nil
}

// A LibraryError is returned if a library chart is to be rendered or installed.
type LibraryError struct{ Chart string }

func (e *LibraryError) Error() string {
	return fmt.Sprintf("library charts are not installable: %q has type library; make it a dependency "+
		"of an application chart", e.Chart)
}

// A KubeVersionError is returned if a chart does not support the Kubernetes version.
type KubeVersionError struct{ Chart, Want, Have string }

func (e *KubeVersionError) Error() string {
	return fmt.Sprintf("chart requires kubeVersion: %s which is incompatible with Kubernetes %s (chart %s)", e.Want,
		e.Have, e.Chart)
}

// A MissingDependenciesError is returned if dependencies of Chart.yaml are not in charts/.
type MissingDependenciesError struct {
	Chart   string
	Missing []string
}

func (e *MissingDependenciesError) Error() string {
	return fmt.Sprintf("an error occurred while checking for chart dependencies of %s: found in %s, but "+
		"missing in %s/ directory: %s",
		e.Chart, chart.FileMetadata, chart.DirCharts, strings.Join(e.Missing, ", "))
}
