// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"cmp"
	"context"
	"os/exec"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan/patch"
	"github.com/moonhelm/moonhelm/plugin/postrender"
)

// ScriptRunner runs the scripts of a chart for one rendering. A [script.Host] is one.
type ScriptRunner interface {
	event.Source
	Close() error
}

// lookupFunc finds an object, or those of a kind, for kube.lookup.
type lookupFunc = func(apiVersion, kind, namespace, name string) (map[string]any, error)

// operation runs the scripts of a chart for a rendering: with the events of an install, or of an upgrade
// if the release of the test is one. A nil *operation runs none.
type operation struct {
	bus     *event.Bus
	scripts ScriptRunner
	info    *event.Operation
}

// operation returns the operation for t, or nil if the chart has no scripts to run.
func (r *renderer) operation(t *test, caps *engine.Capabilities) *operation {
	return r.operationOf(r.Root, r.release(t), caps, r.lookup(t))
}

// operationOf returns the operation for a rendering of root, or nil if that has no scripts to run.
func (c *Chart) operationOf(root *chart.Chart, rel engine.Release, caps *engine.Capabilities,
	lookup lookupFunc) *operation {
	if c.Scripts == nil || !root.HasScripts() {
		return nil
	}
	op := &operation{bus: &event.Bus{}, scripts: c.Scripts(), info: &event.Operation{
		Command: "install", Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision, Service: rel.Service,
		IsInstall: rel.IsInstall, IsUpgrade: rel.IsUpgrade, HelmVersion: caps.HelmVersion.Version,
		KubeVersion: caps.KubeVersion.String(), APIVersions: caps.APIVersions, Lookup: lookup,
	}}
	if rel.IsUpgrade {
		op.info.Command = "upgrade"
	}
	op.bus.Use(op.scripts)
	return op
}

func (o *operation) close() {
	if o != nil {
		_ = o.scripts.Close() // a handler that failed has returned its error
	}
}

// begin runs the events before the rendering.
func (o *operation) begin(ctx context.Context, p event.Payload) (*event.PreRender, error) {
	if o == nil {
		return &event.PreRender{Payload: p}, nil
	}
	p.Operation = o.info
	resolved := &event.ChartResolved{Payload: p}
	if err := o.bus.Load(ctx, resolved); err != nil {
		return nil, err
	}
	if err := o.bus.Emit(ctx, resolved); err != nil {
		return nil, err
	}
	loaded := &event.ChartLoaded{Payload: resolved.Payload}
	if err := o.bus.Emit(ctx, loaded); err != nil {
		return nil, err
	}
	pre := &event.PreRender{Payload: loaded.Payload}
	if err := o.bus.Emit(ctx, pre); err != nil {
		return nil, err
	}
	return pre, o.bus.Functions(ctx, pre)
}

// applying is the event before objects are applied.
func (o *operation) applying() string {
	if o.info.IsUpgrade {
		return "pre-upgrade"
	}
	return "pre-install"
}

// changesObjects reports whether scripts handle the events that have the rendered objects.
func (o *operation) changesObjects() bool {
	return o != nil && len(o.scripts.Handlers("post-render"))+len(o.scripts.Handlers(o.applying())) > 0
}

// changes are what changes rendered objects beside scripts.
type changes struct {
	patches   []*patch.Patch // of the charts' patches/
	namespace string
	command   *command // the post-renderer, or nil
}

// patchError is returned for a patch that does not fit.
type patchError struct{ err error }

func (e *patchError) Error() string { return e.err.Error() }
func (e *patchError) Unwrap() error { return e.err }

// patch applies the patches. An error is a *patchError.
func (c changes) patch(objects []*manifest.Object) ([]*manifest.Object, error) {
	if len(c.patches) == 0 {
		return objects, nil
	}
	w := patch.New(objects, c.namespace)
	for _, p := range c.patches {
		if _, err := w.Apply(p); err != nil {
			return nil, &patchError{err}
		}
	}
	patched, err := w.Objects()
	if err != nil {
		return nil, &patchError{err}
	}
	return patched, nil
}

// finish runs the events after the rendering, and what else changes the objects, in the order of an
// install. It returns the files with the objects that are left.
func (o *operation) finish(ctx context.Context, pre *event.PreRender, files []engine.File, c changes) (
	[]engine.File, error) {
	if c.command == nil && len(c.patches) == 0 && !o.changesObjects() && len(pre.Objects) == 0 {
		return files, nil
	}
	objects, err := parseObjects(files)
	if err != nil {
		return nil, err
	}
	rendered := objects
	if o != nil {
		if objects, err = o.postRender(ctx, pre, objects); err != nil {
			return nil, err
		}
	}
	if objects, err = c.patch(objects); err != nil {
		return nil, err
	}
	if c.command != nil {
		if objects, err = c.command.postRender(ctx, objects); err != nil {
			return nil, err
		}
	}
	if o == nil {
		return filesOf(files, rendered, objects), nil
	}
	e := event.New(o.applying())
	*e.Data() = pre.Payload
	e.Data().Objects = objects
	if err := o.bus.Emit(ctx, e); err != nil {
		return nil, err
	}
	return filesOf(files, rendered, inOrder(rendered, e.Data().Objects)), nil
}

func (o *operation) postRender(ctx context.Context, pre *event.PreRender, objects []*manifest.Object) (
	[]*manifest.Object, error) {
	post := &event.PostRender{Payload: pre.Payload}
	post.Objects = slices.Concat(objects, pre.Objects)
	manifest.SortInstall(post.Objects)
	err := o.bus.Emit(ctx, post)
	return post.Objects, err
}

// parseObjects returns the objects of the files that are YAML.
func parseObjects(files []engine.File) (objects []*manifest.Object, err error) {
	for _, f := range files {
		if !isYAML(f.Name) {
			continue
		}
		parsed, err := manifest.Parse(f.Name, f.Content)
		if err != nil {
			return nil, err
		}
		objects = append(objects, parsed...)
	}
	return objects, nil
}

// inOrder returns objects in the order in which they were rendered, not that in which they would be
// installed. New ones are after them.
func inOrder(rendered, objects []*manifest.Object) []*manifest.Object {
	type identity struct{ source, apiVersion, kind, namespace, name string }
	of := func(o *manifest.Object) identity {
		return identity{o.Source, o.APIVersion, o.Kind, o.Namespace, o.Name}
	}
	same, like := map[*manifest.Object]int{}, map[identity]int{}
	for i, o := range rendered {
		same[o] = i
		if _, ok := like[of(o)]; !ok {
			like[of(o)] = i
		}
	}
	at := func(o *manifest.Object) int {
		if i, ok := same[o]; ok {
			return i
		}
		if i, ok := like[of(o)]; ok {
			return i
		}
		return len(rendered)
	}
	out := slices.Clone(objects)
	slices.SortStableFunc(out, func(a, b *manifest.Object) int { return cmp.Compare(at(a), at(b)) })
	return out
}

// filesOf returns the files with objects in place of those that were rendered. Files whose objects are
// the same keep their text, and objects of no file are in new ones.
func filesOf(files []engine.File, rendered, objects []*manifest.Object) []engine.File {
	was, now := bySource(rendered), bySource(objects)
	out := make([]engine.File, 0, len(files))
	for _, f := range files {
		if isYAML(f.Name) && !slices.Equal(was[f.Name], now[f.Name]) {
			f.Content = textOf(now[f.Name])
		}
		delete(now, f.Name)
		out = append(out, f)
	}
	for _, o := range objects {
		if list, ok := now[o.Source]; ok {
			delete(now, o.Source)
			out = append(out, engine.File{Name: o.Source, Content: textOf(list)})
		}
	}
	return out
}

func bySource(objects []*manifest.Object) map[string][]*manifest.Object {
	out := map[string][]*manifest.Object{}
	for _, o := range objects {
		out[o.Source] = append(out[o.Source], o)
	}
	return out
}

func textOf(objects []*manifest.Object) string {
	var b strings.Builder
	for _, o := range objects {
		b.WriteString("---\n" + strings.TrimSuffix(o.Raw, "\n") + "\n")
	}
	return b.String()
}

// postRender pipes objects through the program.
func (c *command) postRender(ctx context.Context, objects []*manifest.Object) ([]*manifest.Object, error) {
	program, err := exec.LookPath(c.Cmd)
	if err != nil {
		return nil, err
	}
	r := postrender.Renderer{Name: c.Cmd, Runner: postrender.Program{Path: program, Args: c.Args}}
	return r.Render(ctx, objects)
}
