// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan/patch"
)

// patch applies the patches of the charts and the request to objects, and returns them. What is
// wrong with a patch is a finding.
func (w *linter) patch(root *chart.Chart, objects []*manifest.Object) []*manifest.Object {
	if slices.ContainsFunc(root.Files, func(f *chart.File) bool { return strings.HasPrefix(f.Name, patch.Dir+"/") }) &&
		patch.Enabled(root) {
		w.add(lint.Info, patch.Dir+"/", 0, "the patches are for subcharts, and Moonhelm applies them: Helm ignores them")
	}
	r := rendering{patches: w.req.PatchOptions, release: engine.Release{Namespace: w.req.Namespace}}
	all, err := r.allPatches(root)
	if err != nil {
		w.patchError(root, nil, err)
		return objects
	}
	failed := slices.ContainsFunc(w.findings, func(f lint.Finding) bool {
		return f.Severity >= lint.Error && strings.HasPrefix(f.Path, chart.DirTemplates)
	})
	for _, p := range all {
		patched, _, err := p.Apply(objects, r.release.Namespace)
		var none *patch.NoTargetError
		switch {
		case err == nil:
			objects = patched
		case failed && errors.As(err, &none): // the object may be that of a template that fails
		default:
			w.patchError(root, p, err)
		}
	}
	return objects
}

// patchError adds what is wrong with a patch. p is nil if the patches cannot be read.
func (w *linter) patchError(root *chart.Chart, p *patch.Patch, err error) {
	file, line := "", 0
	if p != nil {
		file, line = p.File, p.Line
	}
	var syntax *patch.SyntaxError
	if errors.As(err, &syntax) {
		file, line = syntax.File, syntax.Line
	}
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, file+": "); ok {
		text = rest
	} else if _, rest, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(text, file+":") {
		text = rest
	}
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		if first, _, _ := strings.Cut(hinted.Hint(), "\n"); strings.HasPrefix(first, "did you mean") {
			text += "; " + first
		}
	}
	w.add(lint.Error, chartPath(root, file), line, text)
}
