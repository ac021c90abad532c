// SPDX-License-Identifier: Apache-2.0

package script

import (
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
)

// chartFields returns ctx.chart.
func chartFields(c *chart.Chart) map[string]any {
	m := metadata(c)
	maintainers := []any{}
	for _, mt := range m.Maintainers {
		if mt != nil {
			maintainers = append(maintainers, map[string]any{"name": mt.Name, "email": mt.Email, "url": mt.URL})
		}
	}
	return map[string]any{
		"apiVersion": m.APIVersion, "name": m.Name, "version": m.Version, "appVersion": m.AppVersion,
		"description": m.Description, "keywords": texts(m.Keywords), "home": m.Home, "sources": texts(m.Sources),
		"maintainers": maintainers, "icon": m.Icon, "type": m.Type, "deprecated": m.Deprecated,
		"kubeVersion": m.KubeVersion, "annotations": textMap(m.Annotations),
	}
}

// releaseFields returns ctx.release: as the operation has it, or the record.
func releaseFields(s *event.Payload) map[string]any {
	op := event.Operation{}
	switch {
	case s.Operation != nil:
		op = *s.Operation
	case s.Release != nil:
		op.Name, op.Namespace, op.Revision = s.Release.Name, s.Release.Namespace, s.Release.Revision
	}
	return map[string]any{
		"name": op.Name, "namespace": op.Namespace, "revision": int64(op.Revision), "service": op.Service,
		"isInstall": op.IsInstall, "isUpgrade": op.IsUpgrade,
	}
}

// capabilityFields returns ctx.capabilities.
func capabilityFields(op *event.Operation) map[string]any {
	if op == nil {
		op = &event.Operation{}
	}
	return map[string]any{
		"helmVersion": op.HelmVersion, "kubernetesVersion": op.KubeVersion, "apiVersions": texts(op.APIVersions),
	}
}

func resultFields(results []event.TestResult) []any {
	out := make([]any, len(results))
	for i, r := range results {
		out[i] = map[string]any{"name": r.Name, "kind": r.Kind, "phase": string(r.Phase)}
	}
	return out
}

// itemFields returns an element of a list of files, templates, dependencies or objects.
func itemFields(origin any) (map[string]any, error) {
	switch origin := origin.(type) {
	case *chart.File:
		return map[string]any{"name": origin.Name, "data": string(origin.Data)}, nil
	case *chart.Dependency:
		return dependencyFields(origin), nil
	}
	m, err := origin.(*manifest.Object).Map()
	return table(m), err
}

// dependencyFields returns an entry of ctx.dependencies, as Chart.yaml has it.
func dependencyFields(d *chart.Dependency) map[string]any {
	f := map[string]any{"name": d.Name, "version": d.Version, "repository": d.Repository}
	if d.Condition != "" {
		f["condition"] = d.Condition
	}
	if len(d.Tags) > 0 {
		f["tags"] = texts(d.Tags)
	}
	if d.Alias != "" {
		f["alias"] = d.Alias
	}
	if d.Enabled {
		f["enabled"] = true
	}
	if len(d.ImportValues) > 0 {
		f["import-values"] = d.ImportValues
	}
	if len(d.ExportValues) > 0 {
		f["export-values"] = d.ExportValues
	}
	if len(d.DependsOn) > 0 {
		f["depends-on"] = texts(d.DependsOn)
	}
	return f
}
