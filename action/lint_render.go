// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// maxTemplateErrors is the maximum number of times that a chart is rendered again to find
// errors in other templates.
const maxTemplateErrors = 25

// render renders the chart, and checks the objects of its own templates. It excludes a
// template that fails, and renders the others again.
func (w *linter) render(ctx context.Context, pre *event.PreRender) error {
	var out *engine.Output
	excluded := excludedTemplates{root: pre.Chart, byPath: map[string]exclusion{}}
	names := newMovedNames(pre.Chart)
	for range maxTemplateErrors {
		var err error
		out, err = engine.Render(ctx, engine.Input{
			Chart:        names.addTo(excluded.remaining()),
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
		if names.isName(err) {
			w.add(lint.Error, chart.FileMetadata, 0, err.Error())
			names = nil
			continue
		}
		var failed *engine.Error
		if !errors.As(err, &failed) {
			w.add(lint.Error, chart.DirTemplates+"/", 0, err.Error())
			return nil
		}
		syntax := len(failed.Calls) == 0
		if excluded.unparsed && !syntax && !w.readsLost(failed) {
			return nil // the error may be caused by missing definitions of the unparsed template
		}
		if !w.readsLost(failed) {
			w.templateError(pre.Chart, failed)
		}
		if !excluded.exclude(failed, syntax) {
			return nil
		}
	}
	if out == nil {
		return nil
	}
	names.takeFrom(out)
	w.addWarnings(pre.Chart, out.Warnings)
	w.checkOrder(pre.Chart, out.Files)
	w.checkMoved(pre.Chart, names, out.Files)
	files := ownFiles(pre.Chart, out.Files)
	for i := range files {
		files[i].Incomplete = len(out.Warnings) > 0
	}
	files, err := w.postRender(ctx, pre, out.Files, files)
	w.define(out.Files)
	w.findings = append(w.findings, lint.Objects(files, w.kube, w.schemas)...)
	w.checkDirectives(files)
	if err == nil {
		err = w.checkPolicies(ctx, pre.Chart, files)
	}
	return err
}

// checkDirectives finds strategic merge patch directives in objects, which all commands
// refuse, and errors in annotations about field ownership.
func (w *linter) checkDirectives(files []lint.Rendered) {
	for _, f := range files {
		objects, err := manifest.Parse(f.Name, f.Content)
		if err != nil {
			continue // lint.Objects reports the error
		}
		for _, o := range objects {
			w.checkTimeout(f.Name, o)
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

// checkTimeout finds an invalid timeout of an object, and an annotation that seems to be one.
func (w *linter) checkTimeout(file string, o *manifest.Object) {
	var invalid *wait.TimeoutError
	if _, err := wait.LimitOf(o); errors.As(err, &invalid) {
		w.add(lint.Error, file, 0, fmt.Sprintf("%s: annotation %s: invalid timeout %q: %s", o, wait.TimeoutAnnotation,
			invalid.Value, invalid.Hint()))
	}
	for _, key := range slices.Sorted(maps.Keys(o.Annotations)) {
		if key != wait.TimeoutAnnotation && resemblesTimeout(key) {
			w.add(lint.Warning, file, 0, fmt.Sprintf("%s: annotation %s has no effect; did you mean %s?", o, key,
				wait.TimeoutAnnotation))
		}
	}
}

// resemblesTimeout reports whether an annotation may be meant to be [wait.TimeoutAnnotation]: one of its
// two parts is right, and the other similar.
func resemblesTimeout(key string) bool {
	prefix, name, ok := strings.Cut(key, "/")
	domain, right, _ := strings.Cut(wait.TimeoutAnnotation, "/")
	similar := func(text, to string) bool { return len(suggest.Nearest([]string{to}, text)) > 0 }
	return ok && (prefix == domain && similar(name, right) || name == right && strings.Contains(prefix, "moonhelm"))
}

// checkOrder finds cycles in the order of objects that the charts ask for. It needs the
// objects of all charts.
func (w *linter) checkOrder(root *chart.Chart, files []engine.File) {
	objects, err := parseObjects(files)
	if err != nil {
		return // lint.Objects reports the error
	}
	_, rest := release.SplitHooks(objects)
	if _, _, err := plan.Sequence(root, rest); err != nil {
		w.add(lint.Error, chart.DirTemplates+"/", 0, err.Error())
	}
}

// checkMoved finds entries of "moved" that contradict the rendered objects.
func (w *linter) checkMoved(root *chart.Chart, names *movedNames, files []engine.File) {
	if names == nil {
		return
	}
	objects, err := parseObjects(files)
	if err != nil {
		return // lint.Objects reports the error
	}
	definitions, _ := parseCRDs(root) // lint.Chart reports the error
	unrendered, err := plan.CheckMoves(plan.MoveInput{Moves: names.moves, Objects: objects, Definitions: definitions,
		Namespace: w.req.Namespace, Charts: chartPaths(root), Root: root.Name()})
	if err != nil {
		w.add(lint.Error, chart.FileMetadata, 0, err.Error())
	}
	for _, e := range unrendered {
		w.add(lint.Warning, chart.FileMetadata, 0, e.Error())
	}
}

// readsLost reports whether the error of a template is about a value that could not be read from
// values.yaml.
func (w *linter) readsLost(failed *engine.Error) bool {
	text := failed.Error()
	return slices.ContainsFunc(w.req.Lost, func(key string) bool { return strings.Contains(text, ".Values."+key) })
}

// exclusion is the way in which a failing template is excluded.
type exclusion int

const (
	_ exclusion = iota
	asPartial
	asEmpty
)

// excludedTemplates is the set of templates to exclude from the next rendering.
type excludedTemplates struct {
	root   *chart.Chart
	byPath map[string]exclusion // by the path from the root chart
	// unparsed reports whether a template with a syntax error was excluded, and with it
	// its definitions.
	unparsed bool
}

// exclude excludes the failing template. A template with a runtime error becomes a partial,
// because others may use its definitions. It reports whether rendering again helps.
func (a *excludedTemplates) exclude(failed *engine.Error, syntax bool) bool {
	name, how := failed.File, asEmpty
	if syntax {
		a.unparsed = true
	} else {
		name, how = failed.Calls[0].File, asPartial
	}
	if a.byPath[name] != 0 || strings.HasPrefix(path.Base(name), "_") && !syntax {
		return false
	}
	a.byPath[name] = how
	return true
}

// remaining returns the chart without the excluded templates.
func (a *excludedTemplates) remaining() *chart.Chart {
	if len(a.byPath) == 0 {
		return a.root
	}
	return a.filter(a.root)
}

func (a *excludedTemplates) filter(c *chart.Chart) *chart.Chart {
	out := c.Shallow()
	out.Templates = make([]*chart.File, len(c.Templates))
	for i, t := range c.Templates {
		switch a.byPath[path.Join(c.FullPath(), t.Name)] {
		case asPartial:
			dir, base := path.Split(t.Name)
			t = &chart.File{Name: dir + "_" + base, Data: t.Data}
		case asEmpty:
			t = &chart.File{Name: t.Name}
		}
		out.Templates[i] = t
	}
	subs := make([]*chart.Chart, len(c.Dependencies()))
	for i, sub := range c.Dependencies() {
		subs[i] = a.filter(sub)
	}
	out.SetDependencies(subs...)
	return out
}

// templateError adds an error at its position. The message has the callers.
func (w *linter) templateError(root *chart.Chart, failed *engine.Error) {
	text := failed.Error()
	if rest, ok := strings.CutPrefix(text, failed.Position()+": "); ok {
		text = rest
	}
	file := chartPath(root, failed.File)
	if file == "" {
		file = chart.DirTemplates + "/"
	}
	w.add(lint.Error, file, failed.Line, text)
}

// chartPath returns the path of a template relative to the root chart's directory.
func chartPath(root *chart.Chart, name string) string {
	return strings.TrimPrefix(name, root.FullPath()+"/")
}

// addWarnings adds errors that lint mode turns into warnings, "POSITION: TEXT".
func (w *linter) addWarnings(root *chart.Chart, texts []string) {
	for _, text := range texts {
		file, line := chart.DirTemplates+"/", 0
		if place, rest, ok := strings.Cut(text, ": "); ok {
			name, numbers, _ := strings.Cut(place, ":")
			num, _, _ := strings.Cut(numbers, ":")
			if n, err := strconv.Atoi(num); err == nil {
				file, line, text = chartPath(root, name), n, rest
			}
		}
		w.add(lint.Info, file, line, text)
	}
}

// ownFiles returns the rendered files of the root chart's own templates.
func ownFiles(root *chart.Chart, files []engine.File) []lint.Rendered {
	sources := make(map[string]string, len(root.Templates))
	for _, t := range root.Templates {
		sources[path.Join(root.FullPath(), t.Name)] = string(t.Data)
	}
	var local []lint.Rendered
	for _, f := range files {
		if source, ok := sources[f.Name]; ok {
			local = append(local, lint.Rendered{Name: chartPath(root, f.Name), Source: source, Content: f.Content})
		}
	}
	return local
}

// postRender emits the events after rendering, so that handlers can change the objects, as
// during an install, and add findings. It returns own with their changes. It ignores files
// that cannot be parsed: lint.Objects reports them.
func (w *linter) postRender(ctx context.Context, pre *event.PreRender, files []engine.File,
	own []lint.Rendered) ([]lint.Rendered, error) {
	objects, err := parseObjects(files)
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
	post.Objects = w.patch(pre.Chart, post.Objects)
	own = withHandlerChanges(pre.Chart, own, before, bySource(post.Objects))
	manifest.SortInstall(post.Objects)
	w.checkDuplicates(pre.Chart, files, post.Objects)
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

// checkDuplicates finds objects that the charts define more than once, which a release cannot
// contain. Hooks may have the names of objects.
func (w *linter) checkDuplicates(root *chart.Chart, files []engine.File, objects []*manifest.Object) {
	all, err := manifest.Flatten(objects)
	if err != nil {
		return // lint.Objects reports the error
	}
	_, all = release.SplitHooks(all)
	type identity struct {
		plan.Ref
		known bool // an object without an apiVersion has no group; that of the core group is ""
	}
	first, texts := map[identity]*manifest.Object{}, newTemplates(root, files)
	for _, o := range all {
		key := identity{refOf(o, w.req.Namespace).Identity(), o.APIVersion != ""}
		switch known := first[key]; {
		case o.Empty || o.Name == "": // reported elsewhere
		case known == nil:
			first[key] = o
		default:
			at := lint.Finding{Path: chartPath(root, o.Source), Line: texts.line(o, "metadata.name")}
			other := lint.Finding{Path: chartPath(root, known.Source), Line: texts.line(known, "metadata.name")}
			places := " here"
			if other != at {
				places = ", here and at " + other.Position()
			}
			w.add(lint.Error, at.Path, at.Line, fmt.Sprintf("%s is defined twice%s: a release can contain an object only once",
				o, places))
		}
	}
}

func bySource(objects []*manifest.Object) map[string][]*manifest.Object {
	out := map[string][]*manifest.Object{}
	for _, o := range objects {
		out[o.Source] = append(out[o.Source], o)
	}
	return out
}

// withHandlerChanges returns own with the objects that handlers have changed, and those that
// the root chart's own handlers have added.
func withHandlerChanges(root *chart.Chart, own []lint.Rendered,
	before, after map[string][]*manifest.Object) []lint.Rendered {
	for i, f := range own {
		source := path.Join(root.FullPath(), f.Name)
		if !sameObjects(before[source], after[source]) {
			own[i].Content = joinObjects(after[source])
		}
	}
	script := path.Join(root.FullPath(), chart.FileScript)
	if added := after[script]; len(added) > 0 {
		own = append(own, lint.Rendered{Name: chart.FileScript, Content: joinObjects(added)})
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

func joinObjects(objects []*manifest.Object) string {
	var b strings.Builder
	for _, o := range objects {
		b.WriteString("---\n" + strings.TrimSuffix(o.Raw, "\n") + "\n")
	}
	return b.String()
}
