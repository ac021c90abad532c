// SPDX-License-Identifier: Apache-2.0

package op

import (
	"context"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/hook"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/render"
	"github.com/moonhelm/moonhelm/schema"
	"github.com/moonhelm/moonhelm/values"
)

// Rendered is what a chart and its values come to.
type Rendered struct {
	// Chart is the tree as rendered: without disabled dependencies, under
	// their aliases.
	Chart *chart.Chart
	// Values are the final values of the root chart.
	Values map[string]any
	// Objects are in install order, hooks not among them.
	Objects []*manifest.Object
	// Hooks stand in install order of their kinds.
	Hooks []*release.Hook
	Notes string

	// newCRDs are the definitions that the cluster lacks and install brings.
	newCRDs []*manifest.Object
}

// Known are the objects whose kinds the cluster serves now: all but those of
// kinds that the chart's own CRDs are yet to define.
func (r *Rendered) Known() []*manifest.Object { return without(r.Objects, r.newCRDs) }

// rendering is one way through merge values → pre-render → validate → render →
// post-render, the same for every verb that renders.
type rendering struct {
	events *event.Bus

	resolved     *values.Resolved
	release      render.Release
	capabilities *render.Capabilities
	lookup       func(apiVersion, kind, namespace, name string) (map[string]any, error)
	lookupHost   func(host string) string
	skipSchema   bool
	subNotes     bool
}

// resolve lays the user's values over the chart's and switches dependencies on
// and off: a new tree, and its final values.
func resolve(c *chart.Chart, user map[string]any, report progress.Func) (*values.Resolved, error) {
	if c.IsLibrary() {
		return nil, &LibraryError{Chart: c.Name()}
	}
	if missing := values.Missing(c); len(missing) > 0 {
		return nil, &MissingDependenciesError{Chart: c.Name(), Missing: missing}
	}
	res, err := values.Resolve(c, user)
	if err != nil {
		return nil, err
	}
	for _, w := range res.Warnings {
		report.Send(progress.Event{Kind: progress.Warning, Text: w})
	}
	return res, nil
}

func (r rendering) run(ctx context.Context) (*Rendered, error) {
	res := r.resolved
	pre := &event.PreRender{Chart: res.Chart, Values: res.Values}
	if err := r.events.Emit(ctx, pre); err != nil {
		return nil, err
	}
	if err := checkKubeVersion(pre.Chart, r.capabilities); err != nil {
		return nil, err
	}
	if !r.skipSchema {
		if err := schema.Validate(pre.Chart, pre.Values); err != nil {
			return nil, err
		}
	}
	return r.execute(ctx, pre.Chart, pre.Values)
}

func (r rendering) execute(ctx context.Context, c *chart.Chart, vals map[string]any) (*Rendered, error) {
	out, err := render.Render(ctx, render.Input{
		Chart:        c,
		Values:       vals,
		Release:      r.release,
		Capabilities: r.capabilities,
		Lookup:       r.lookup,
		LookupHost:   r.lookupHost,
	})
	if err != nil {
		return nil, err
	}
	var objects []*manifest.Object
	for _, f := range out.Files {
		objs, err := manifest.Parse(f.Name, f.Content)
		if err != nil {
			return nil, err
		}
		objects = append(objects, objs...)
	}
	post := &event.PostRender{Chart: c, Objects: objects}
	if err := r.events.Emit(ctx, post); err != nil {
		return nil, err
	}
	hooks, rest, err := hook.Split(post.Objects)
	if err != nil {
		return nil, err
	}
	manifest.SortInstall(rest)
	return &Rendered{Chart: c, Values: vals, Objects: rest, Hooks: hooks, Notes: notes(c, out.Notes, r.subNotes)}, nil
}

// notes joins the root chart's NOTES.txt, and its subcharts' where asked.
func notes(root *chart.Chart, files []render.File, sub bool) string {
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

// checkKubeVersion holds the root chart's kubeVersion against the cluster's.
// Subcharts' are not looked at, as charts in the wild rely on.
func checkKubeVersion(c *chart.Chart, caps *render.Capabilities) error {
	want := c.Metadata.KubeVersion
	if want == "" {
		return nil
	}
	constraint, err := semver.NewConstraint(want)
	if err != nil {
		return fmt.Errorf("%s: kubeVersion %q of chart %s is no version range", chart.FileMetadata, want, c.Name())
	}
	have := caps.KubeVersion.String()
	v, err := semver.NewVersion(have)
	if err != nil || !constraint.Check(v) {
		return &KubeVersionError{Chart: c.Name(), Want: want, Have: have}
	}
	return nil
}

// LibraryError tells that a library chart was to be rendered or installed.
type LibraryError struct{ Chart string }

func (e *LibraryError) Error() string {
	return fmt.Sprintf("library charts are not installable: %q has type library; make it a dependency of an application chart", e.Chart)
}

// KubeVersionError tells that a chart does not want this Kubernetes.
type KubeVersionError struct{ Chart, Want, Have string }

func (e *KubeVersionError) Error() string {
	return fmt.Sprintf("chart %s requires kubeVersion: %s which is incompatible with Kubernetes %s", e.Chart, e.Want, e.Have)
}

// MissingDependenciesError lists dependencies of Chart.yaml that charts/ lacks.
type MissingDependenciesError struct {
	Chart   string
	Missing []string
}

func (e *MissingDependenciesError) Error() string {
	return fmt.Sprintf("dependencies of chart %s are found in %s, but missing in %s/ directory: %s",
		e.Chart, chart.FileMetadata, chart.DirCharts, strings.Join(e.Missing, ", "))
}
