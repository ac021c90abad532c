// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// maxTemplateErrors bounds how often a chart is rendered again to find what
// else fails.
const maxTemplateErrors = 25

// render renders the chart and checks the objects of its own templates. A
// template that fails is put aside, and the rest rendered again.
func (w *linting) render(ctx context.Context, pre *event.PreRender) error {
	var out *engine.Output
	aside := asides{root: pre.Chart, how: map[string]way{}}
	for range maxTemplateErrors {
		var err error
		out, err = engine.Render(ctx, engine.Input{
			Chart:        aside.remaining(),
			Values:       pre.Values,
			Release:      engine.Release{Name: lintRelease, Namespace: w.req.Namespace, Service: releaseService},
			Capabilities: w.caps,
			Functions:    pre.Functions,
			Lint:         true,
		})
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var failed *engine.Error
		if !errors.As(err, &failed) {
			w.add(lint.Error, chart.DirTemplates+"/", 0, err.Error())
			return nil
		}
		syntax := len(failed.Calls) == 0
		if aside.unreadable && !syntax {
			return nil // what fails now may fail for want of what could not be read
		}
		w.templateError(pre.Chart, failed)
		if !aside.put(failed, syntax) {
			return nil
		}
	}
	if out == nil {
		return nil
	}
	w.warnings(pre.Chart, out.Warnings)
	w.order(pre.Chart, out.Files)
	files := ownFiles(pre.Chart, out.Files)
	files, err := w.postRender(ctx, pre, out.Files, files)
	w.findings = append(w.findings, lint.Objects(files, w.kube)...)
	w.directives(files)
	return err
}

// directives finds words of patches in objects, which no command would apply, and
// what is wrong with what objects say about the ownership of their fields.
func (w *linting) directives(files []lint.Rendered) {
	for _, f := range files {
		objects, err := manifest.Parse(f.Name, f.Content)
		if err != nil {
			continue // told where it stands
		}
		for _, o := range objects {
			m, err := o.Map()
			if err != nil {
				continue
			}
			missing, err := plan.CheckOwnership(m)
			if err != nil {
				w.add(lint.Error, f.Name, 0, fmt.Sprintf("%s: %s", o, err))
			}
			for _, path := range missing {
				w.add(lint.Warning, f.Name, 0,
					fmt.Sprintf("%s: annotation %s names %s, and the object has no such field", o, plan.OwnershipAnnotation, path))
			}
			if found := plan.Directive(m); found != "" {
				w.add(lint.Error, f.Name, 0, fmt.Sprintf("%s: %s is a directive of strategic merge patches, "+
					"which a manifest must not have: remove it", o, found))
			}
		}
	}
}

// order finds cycles in what the charts say about the order of their objects.
// Only all objects together show them.
func (w *linting) order(root *chart.Chart, files []engine.File) {
	objects, err := parse(files)
	if err != nil {
		return // told where it stands
	}
	_, rest := release.SplitHooks(objects)
	if _, _, err := plan.Sequence(root, rest); err != nil {
		w.add(lint.Error, chart.DirTemplates+"/", 0, err.Error())
	}
}

// way is how a failing template is put aside.
type way int

const (
	_ way = iota
	silenced
	emptied
)

// asides are the templates that are left out of the next rendering.
type asides struct {
	root *chart.Chart
	how  map[string]way // by the path from the root chart
	// unreadable reports that a template that is not a template was left out, and
	// with it what it may define.
	unreadable bool
}

// put leaves the failing template out: one that fails to run is kept as a
// partial, for others may use what it defines. It reports whether that helps.
func (a *asides) put(failed *engine.Error, syntax bool) bool {
	name, how := failed.File, emptied
	if syntax {
		a.unreadable = true
	} else {
		name, how = failed.Calls[0].File, silenced
	}
	if a.how[name] != 0 || strings.HasPrefix(path.Base(name), "_") && !syntax {
		return false
	}
	a.how[name] = how
	return true
}

// remaining returns the chart without the templates that were put aside.
func (a *asides) remaining() *chart.Chart {
	if len(a.how) == 0 {
		return a.root
	}
	return a.without(a.root)
}

func (a *asides) without(c *chart.Chart) *chart.Chart {
	out := c.Shallow()
	out.Templates = make([]*chart.File, len(c.Templates))
	for i, t := range c.Templates {
		switch a.how[path.Join(c.FullPath(), t.Name)] {
		case silenced:
			dir, base := path.Split(t.Name)
			t = &chart.File{Name: dir + "_" + base, Data: t.Data}
		case emptied:
			t = &chart.File{Name: t.Name}
		}
		out.Templates[i] = t
	}
	subs := make([]*chart.Chart, len(c.Dependencies()))
	for i, sub := range c.Dependencies() {
		subs[i] = a.without(sub)
	}
	out.SetDependencies(subs...)
	return out
}

// templateError places an error where it happened; who called is in the
// message.
func (w *linting) templateError(root *chart.Chart, failed *engine.Error) {
	text := failed.Error()
	if rest, ok := strings.CutPrefix(text, failed.Position()+": "); ok {
		text = rest
	}
	file := below(root, failed.File)
	if file == "" {
		file = chart.DirTemplates + "/"
	}
	w.add(lint.Error, file, failed.Line, text)
}

// below is a template's path from the root chart's top directory.
func below(root *chart.Chart, name string) string {
	return strings.TrimPrefix(name, root.FullPath()+"/")
}

// warnings are what templates would have failed with: "PLACE: TEXT".
func (w *linting) warnings(root *chart.Chart, texts []string) {
	for _, text := range texts {
		file, line := chart.DirTemplates+"/", 0
		if place, rest, ok := strings.Cut(text, ": "); ok {
			name, numbers, _ := strings.Cut(place, ":")
			num, _, _ := strings.Cut(numbers, ":")
			if n, err := strconv.Atoi(num); err == nil {
				file, line, text = below(root, name), n, rest
			}
		}
		w.add(lint.Info, file, line, text)
	}
}

// ownFiles are what the root chart's own templates rendered.
func ownFiles(root *chart.Chart, files []engine.File) []lint.Rendered {
	sources := make(map[string]string, len(root.Templates))
	for _, t := range root.Templates {
		sources[path.Join(root.FullPath(), t.Name)] = string(t.Data)
	}
	var own []lint.Rendered
	for _, f := range files {
		if source, ok := sources[f.Name]; ok {
			own = append(own, lint.Rendered{Name: below(root, f.Name), Source: source, Content: f.Content})
		}
	}
	return own
}

// postRender lets handlers see the objects, as install would, and add findings
// of their own. It returns what own has become: what is checked is what would be
// installed. Files that hold no objects are complained about there.
func (w *linting) postRender(ctx context.Context, pre *event.PreRender, files []engine.File,
	own []lint.Rendered) ([]lint.Rendered, error) {
	if w.events == nil {
		return own, nil
	}
	objects, err := parse(files)
	if err != nil {
		return own, nil
	}
	before := bySource(objects)
	objects = append(objects, pre.Objects...)
	manifest.SortInstall(objects)
	post := &event.PostRender{Payload: pre.Payload}
	post.Objects = objects
	if err := w.events.Emit(ctx, post); err != nil {
		return own, w.handlerError(ctx, err)
	}
	own = rewritten(pre.Chart, own, before, bySource(post.Objects))
	manifest.SortInstall(post.Objects) // what handlers have added stands where it was put
	last := &event.PreLint{
		Payload: post.Payload,
		Warn:    func(path, text string) { w.add(lint.Warning, path, 0, text) },
		Fail:    func(path, text string) { w.add(lint.Error, path, 0, text) },
	}
	if err := w.events.Emit(ctx, last); err != nil {
		return own, w.handlerError(ctx, err)
	}
	return own, nil
}

func bySource(objects []*manifest.Object) map[string][]*manifest.Object {
	out := map[string][]*manifest.Object{}
	for _, o := range objects {
		out[o.Source] = append(out[o.Source], o)
	}
	return out
}

// rewritten is own with the text of the files whose objects handlers have
// changed, and with what the root chart's own handlers have added.
func rewritten(root *chart.Chart, own []lint.Rendered, before, after map[string][]*manifest.Object) []lint.Rendered {
	for i, f := range own {
		source := path.Join(root.FullPath(), f.Name)
		if !sameObjects(before[source], after[source]) {
			own[i].Content = text(after[source])
		}
	}
	script := path.Join(root.FullPath(), chart.FileScript)
	if added := after[script]; len(added) > 0 {
		own = append(own, lint.Rendered{Name: chart.FileScript, Content: text(added)})
	}
	return own
}

func sameObjects(a, b []*manifest.Object) bool {
	if len(a) != len(b) {
		return false
	}
	known := make(map[*manifest.Object]bool, len(a))
	for _, o := range a {
		known[o] = true
	}
	return !slices.ContainsFunc(b, func(o *manifest.Object) bool { return !known[o] })
}

func text(objects []*manifest.Object) string {
	var b strings.Builder
	for _, o := range objects {
		b.WriteString("---\n" + strings.TrimSuffix(o.Raw, "\n") + "\n")
	}
	return b.String()
}
