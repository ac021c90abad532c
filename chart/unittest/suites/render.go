// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/yaml"
	"github.com/moonhelm/moonhelm/plan/patch"
	"github.com/moonhelm/moonhelm/script"
)

// outputs are what the templates of a test have rendered.
type outputs struct {
	root string // the name of the root chart
	// docs has the documents of each template, by its path from the root chart: "templates/pod.yaml".
	docs map[string][]document
	// texts has the outputs, for the places of documents.
	texts map[string]string
	// failed is set if a template has failed. docs is then empty.
	failed *failure
	// templates are the files of the chart as rendered, by their paths.
	templates map[string]*chart.File
}

// names returns the paths of the templates that were rendered, sorted.
func (o *outputs) names() []string {
	out := make([]string, 0, len(o.docs))
	for name := range o.docs {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// renderer renders the chart of a suite for its tests.
type renderer struct {
	*Chart
	def      *definition
	selected selection
	prefix   string // of the suite's chart; see newPattern
	file     string // of the suite
}

// render renders the templates that the suite selects with the settings of t. An error is one that t
// cannot expect, such as a values file that does not exist; a template that fails is in the result.
func (r *renderer) render(ctx context.Context, t *test) (*outputs, error) {
	user, err := r.userValues(t)
	if err != nil {
		return nil, err
	}
	key := r.key(t, user)
	if key == "" {
		return r.renderWith(ctx, t, user)
	}
	return r.renderings.do(key, func() (*outputs, error) { return r.renderWith(ctx, t, user) })
}

func (r *renderer) renderWith(ctx context.Context, t *test, user map[string]any) (*outputs, error) {
	res, err := values.Resolve(r.Root, user)
	if err == nil {
		_, err = dependency.Libraries(res.Chart)
	}
	if err != nil {
		return nil, err
	}
	out := &outputs{root: res.Chart.Name(), docs: map[string][]document{}, texts: map[string]string{},
		templates: map[string]*chart.File{}}
	override(res.Chart, r.versions(t))
	caps, err := r.capabilities(t)
	if err != nil {
		return nil, err
	}
	op := r.operation(t, caps)
	defer op.close()
	err = r.run(ctx, t, op, res, caps, out)
	var bad *engine.Error
	var failed *script.Error
	switch {
	case err == nil:
	case errors.As(err, &bad):
		out.failed = newFailure(bad, out.root)
	case errors.As(err, &failed) && failed.Limit == "":
		out.failed = &failure{script: true, err: err}
	default:
		return nil, err
	}
	return out, nil
}

// run renders the templates of res for t into out, with what the scripts of op do before and after.
func (r *renderer) run(ctx context.Context, t *test, op *operation, res *values.Resolved, caps *engine.Capabilities,
	out *outputs) error {
	pre, err := op.begin(ctx, event.Payload{Chart: res.Chart, Values: res.Values})
	if err != nil {
		return err
	}
	final := res.Rounded(pre.Values)
	if !r.SkipSchema {
		if err := r.schemas.Validate(pre.Chart, final); err != nil {
			out.failed = &failure{err: err}
			return nil
		}
	}
	patches, err := patch.OfCharts(pre.Chart)
	if err != nil {
		out.failed = &failure{err: err}
		return nil
	}
	selected := r.selected
	all := op.changesObjects() || len(patches) > 0
	if all { // scripts and patches are for all objects
		selected = selection{}
	}
	prepare(pre.Chart, "", selected, out)
	rendered, err := engine.Render(ctx, engine.Input{Chart: pre.Chart, Values: final, Rounded: true, Release: r.release(t),
		Capabilities: caps, Lookup: r.lookup(t), Functions: pre.Functions, Cache: r.cache, Coverage: r.Coverage})
	if err != nil {
		return err
	}
	files, err := op.finish(ctx, pre, rendered.Files, changes{patches, r.release(t).Namespace, r.postRenderer(t)})
	var unfit *patchError
	if errors.As(err, &unfit) {
		out.failed = &failure{err: unfit.err}
		return nil
	}
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(slices.Concat(files, rendered.Notes), func(f engine.File) bool {
		return (op != nil || all) && !r.selected.has(strings.TrimPrefix(f.Name, out.root+"/"))
	})
	return r.parse(pre.Chart, files, out)
}

// parse parses the output of all templates.
func (r *renderer) parse(c *chart.Chart, files []engine.File, out *outputs) error {
	if r.def.IncludeCRDs {
		for _, crd := range c.CRDs() {
			files = append(files, engine.File{Name: crd.Source, Content: string(crd.Data)})
		}
	}
	for _, f := range files {
		name := strings.TrimPrefix(f.Name, out.root+"/")
		docs, err := r.docs.parse(name, f.Content)
		if err != nil {
			return &yamlError{file: f.Name, err: err}
		}
		out.docs[name], out.texts[name] = docs, f.Content
	}
	return nil
}

// yamlError is returned for output that is not YAML.
type yamlError struct {
	file string
	err  error
}

func (e *yamlError) Error() string { return e.file + ": " + e.err.Error() }
func (e *yamlError) Unwrap() error { return e.err }

// Hint says how to see the output.
func (e *yamlError) Hint() string {
	return "helm template --debug prints the output of templates as it is"
}

// userValues returns the values of t: those of the suite's files, of t's files, of the command line, of
// the suite's set and of t's set, the last of which win. Those of a suite of a subchart are below the
// subchart's name.
func (r *renderer) userValues(t *test) (map[string]any, error) {
	lists := values.ListsOf(r.Root)
	var all map[string]any
	for _, file := range slices.Concat(r.def.Values, t.Values) {
		vals, err := r.files.read(filepath.Join(filepath.Dir(r.file), filepath.FromSlash(file)), file)
		if err != nil {
			return nil, &Error{File: r.file, Err: fmt.Errorf("values %s: %w", file, err)}
		}
		all = lists.Merge(all, r.scope(vals))
	}
	all = lists.Merge(all, r.Values)
	for _, n := range []*yaml.Node{&r.def.Set, &t.Set} {
		vals, err := setValues(n)
		if bad, ok := errors.AsType[*setError](err); ok {
			return nil, &Error{File: r.file, Line: bad.line, Err: err}
		}
		all = lists.Merge(all, r.scope(vals))
	}
	return all, nil
}

// scope returns the root's values for those of the suite's chart. Global values are the root's too.
func (r *renderer) scope(vals map[string]any) map[string]any {
	if r.prefix == "" || len(vals) == 0 {
		return vals
	}
	names := strings.Split(r.prefix, "/")
	global, isGlobal := vals[values.Global]
	for i := len(names) - 1; i > 0; i -= 2 { // charts/a/charts/b
		vals = map[string]any{names[i]: vals}
	}
	if isGlobal {
		vals[values.Global] = global
	}
	return vals
}

// override overrides the versions of c and of all charts below it. c is not shared: values.Resolve has
// made it.
func override(c *chart.Chart, v versions) {
	if v == (versions{}) {
		return
	}
	c.Walk(func(c *chart.Chart) {
		if c.Metadata == nil {
			return
		}
		m := *c.Metadata
		m.Version, m.AppVersion = or(v.Version, m.Version), or(v.AppVersion, m.AppVersion)
		c.Metadata = &m
	})
}

// prepare leaves of c and of all charts below it the selected templates. c is not shared.
func prepare(c *chart.Chart, dir string, selected selection, out *outputs) {
	kept := make([]*chart.File, 0, len(c.Templates))
	for _, f := range c.Templates {
		name := path.Join(dir, f.Name)
		switch {
		case selected.has(name):
			out.templates[name] = f
		case strings.HasSuffix(name, ".tpl"): // its definitions are needed, but not its output
			f = &chart.File{Name: path.Join(path.Dir(f.Name), "_"+path.Base(f.Name)), Data: f.Data}
		default:
			continue
		}
		kept = append(kept, f)
	}
	c.Templates = kept
	for _, d := range c.Dependencies() {
		in := chart.DirCharts
		if d.FromLibrary {
			in = chart.DirLibrary
		}
		prepare(d, path.Join(dir, in, d.Name()), selected, out)
	}
}

func (r *renderer) versions(t *test) versions {
	return versions{Version: or(t.Chart.Version, r.def.Chart.Version),
		AppVersion: or(t.Chart.AppVersion, r.def.Chart.AppVersion)}
}

func or(first, second string) string {
	if first != "" {
		return first
	}
	return second
}

func (r *renderer) release(t *test) engine.Release {
	out := engine.Release{Name: or(or(t.Release.Name, r.def.Release.Name), "RELEASE-NAME"),
		Namespace: or(or(t.Release.Namespace, r.def.Release.Namespace), "NAMESPACE")}
	for _, from := range []release{r.def.Release, t.Release} {
		if from.Revision != nil {
			out.Revision = *from.Revision
		}
		if from.Upgrade != nil {
			out.IsUpgrade = *from.Upgrade
		}
	}
	out.IsInstall = !out.IsUpgrade
	return out
}

func (r *renderer) capabilities(t *test) (*engine.Capabilities, error) {
	caps := engine.DefaultCapabilities()
	major, minor := caps.KubeVersion.Major, caps.KubeVersion.Minor
	given := false
	for _, from := range []capabilities{r.def.Capabilities, t.Capabilities} {
		if from.Major != nil {
			major, given = *from.Major, true
		}
		if from.Minor != nil {
			minor, given = *from.Minor, true
		}
	}
	if given {
		v, err := engine.ParseKubeVersion("v" + major + "." + minor + ".0")
		if err != nil {
			return nil, &Error{File: r.file, Err: fmt.Errorf("capabilities: %w", err)}
		}
		caps.KubeVersion = v
	}
	versions, given, err := r.apiVersions(t)
	if given {
		caps.APIVersions = versions
	}
	return caps, err
}

// apiVersions returns the versions of t before those of the suite. Null in a test stands for none.
func (r *renderer) apiVersions(t *test) (out []string, given bool, err error) {
	for _, n := range []*yaml.Node{&t.Capabilities.APIVersions, &r.def.Capabilities.APIVersions} {
		if n.Kind == 0 {
			continue
		}
		given = true
		var list []string
		if n.Decode(&list) != nil {
			err := fmt.Errorf("capabilities.apiVersions: want a list of strings, got %s", describeNode(yaml.Target(n)))
			return nil, true, &Error{File: r.file, Line: n.Line, Err: err}
		}
		if list == nil {
			return nil, true, nil
		}
		out = append(out, list...)
	}
	return out, given, nil
}

func (r *renderer) postRenderer(t *test) *command {
	if t.PostRenderer != nil {
		return t.PostRenderer
	}
	return r.def.PostRenderer
}
