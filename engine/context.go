// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"path"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	chartfiles "github.com/moonhelm/moonhelm/engine/engine"
)

// scope is the data for the templates of a chart.
type scope struct {
	chart  *chart.Chart
	dot    Values
	subs   []*scope
	parent *scope
}

// top returns the scope directly below the root that contains s, or nil for the root.
func (s *scope) top() *scope {
	if s.parent == nil {
		return nil
	}
	for s.parent.parent != nil {
		s = s.parent
	}
	return s
}

// newScope builds the data for c and the charts below it. As in Helm, the templates of a chart
// share one map, and a chart's values are part of its parent's, so that both have the values
// that a template writes with set.
func newScope(c *chart.Chart, vals map[string]any, in *Input, release map[string]any) *scope {
	subcharts := map[string]any{}
	s := &scope{chart: c}
	for _, sub := range c.Dependencies() {
		subVals, ok := vals[sub.Name()].(map[string]any)
		if !ok || sub.FromLibrary {
			subVals = map[string]any{}
		}
		child := newScope(sub, subVals, in, release)
		if !sub.FromLibrary {
			subcharts[sub.Name()] = child.dot
		}
		child.parent = s
		s.subs = append(s.subs, child)
	}
	s.dot = Values{
		"Chart":        chartData(c),
		"Files":        chartfiles.NewFiles(c.Files),
		"Release":      release,
		"Capabilities": in.Capabilities,
		"Values":       Values(vals),
		"Subcharts":    subcharts,
	}
	return s
}

// template sets the chart's data for the template that is about to run.
func (s *scope) template(name string) Values {
	s.dot["Template"] = Values{
		"Name":     name,
		"BasePath": path.Join(s.chart.FullPath(), chart.DirTemplates),
	}
	return s.dot
}

func releaseData(r Release) map[string]any {
	service := r.Service
	if service == "" {
		service = "Helm"
	}
	return map[string]any{
		"Name":      r.Name,
		"Namespace": r.Namespace,
		"IsUpgrade": r.IsUpgrade,
		"IsInstall": r.IsInstall,
		"Revision":  r.Revision,
		"Service":   service,
	}
}

// chartData returns .Chart, the metadata with the names of the Go fields.
func chartData(c *chart.Chart) map[string]any {
	m := c.Metadata
	if m == nil {
		m = &chart.Metadata{}
	}
	deps := dependencyData(c, m.Dependencies)
	maintainers := make([]any, 0, len(m.Maintainers))
	for _, mt := range m.Maintainers {
		if mt != nil {
			maintainers = append(maintainers, map[string]any{"Name": mt.Name, "Email": mt.Email, "URL": mt.URL})
		}
	}
	return map[string]any{
		"Name": m.Name, "Home": m.Home, "Sources": anySlice(m.Sources), "Version": m.Version,
		"Description": m.Description, "Keywords": anySlice(m.Keywords), "Maintainers": maintainers,
		"Icon": m.Icon, "APIVersion": m.APIVersion, "Condition": m.Condition, "Tags": m.Tags,
		"AppVersion": m.AppVersion, "Deprecated": m.Deprecated, "Annotations": m.Annotations,
		"KubeVersion": m.KubeVersion, "Dependencies": deps, "Type": m.Type, "IsRoot": c.IsRoot(),
	}
}

// dependencyData returns the dependencies that are in use, as in Helm after resolving: enabled
// ones only, with their aliases, and with all imports in the long form.
func dependencyData(c *chart.Chart, deps []*chart.Dependency) []any {
	have := make(map[string]bool, len(c.Dependencies()))
	for _, d := range c.Dependencies() {
		have[d.Name()] = true
	}
	out := make([]any, 0, len(deps))
	for _, d := range deps {
		if d == nil {
			continue
		}
		name := d.Name
		if d.Alias != "" {
			name = d.Alias
		}
		if !have[name] {
			continue
		}
		imports := make([]any, len(d.ImportValues))
		for i, v := range d.ImportValues {
			switch v := v.(type) {
			case string:
				imports[i] = map[string]any{"child": "exports." + v, "parent": "."}
			case map[string]any:
				imports[i] = values.Copy(v)
			default:
				imports[i] = v
			}
		}
		out = append(out, map[string]any{
			"Name": name, "Version": d.Version, "Repository": d.Repository,
			"Condition": d.Condition, "Tags": anySlice(d.Tags), "Enabled": true,
			"ImportValues": imports, "Alias": d.Alias,
		})
	}
	return out
}

func anySlice(from []string) []any {
	out := make([]any, len(from))
	for i, s := range from {
		out[i] = s
	}
	return out
}

// rootValues returns the values of the root chart's templates.
func rootValues(in *Input) map[string]any {
	if in.Values == nil {
		return map[string]any{}
	}
	return values.Scope(in.Values, in.Chart)
}
