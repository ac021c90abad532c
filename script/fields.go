// SPDX-License-Identifier: Apache-2.0

package script

import (
	"strconv"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
)

func itoa(n int) string { return strconv.Itoa(n) }

func texts(l []string) []any {
	out := make([]any, len(l))
	for i, s := range l {
		out[i] = s
	}
	return out
}

// chartFields are ctx.chart.
func chartFields(c *chart.Chart) map[string]any {
	m := c.Metadata
	if m == nil {
		m = &chart.Metadata{}
	}
	maintainers := []any{}
	for _, mt := range m.Maintainers {
		if mt != nil {
			maintainers = append(maintainers, map[string]any{"name": mt.Name, "email": mt.Email, "url": mt.URL})
		}
	}
	annotations := make(map[string]any, len(m.Annotations))
	for k, v := range m.Annotations {
		annotations[k] = v
	}
	return map[string]any{
		"apiVersion": m.APIVersion, "name": m.Name, "version": m.Version, "appVersion": m.AppVersion,
		"description": m.Description, "keywords": texts(m.Keywords), "home": m.Home, "sources": texts(m.Sources),
		"maintainers": maintainers, "icon": m.Icon, "type": m.Type, "deprecated": m.Deprecated,
		"kubeVersion": m.KubeVersion, "annotations": annotations,
	}
}

// releaseFields are ctx.release: as the operation knows it, or the record.
func releaseFields(s *event.Payload) map[string]any {
	f := map[string]any{}
	switch {
	case s.Operation != nil:
		op := s.Operation
		f["name"], f["namespace"], f["revision"] = op.Name, op.Namespace, int64(op.Revision)
		f["service"], f["isInstall"], f["isUpgrade"] = op.Service, op.IsInstall, op.IsUpgrade
	case s.Release != nil:
		f["name"], f["namespace"], f["revision"] = s.Release.Name, s.Release.Namespace, int64(s.Release.Revision)
	}
	return f
}

// capabilityFields are ctx.capabilities.
func capabilityFields(op *event.Operation) map[string]any {
	if op == nil {
		return map[string]any{"apiVersions": []any{}}
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

// dependencyFields are an entry of ctx.dependencies, as Chart.yaml has it.
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
	if len(d.DependsOn) > 0 {
		f["depends-on"] = texts(d.DependsOn)
	}
	return f
}
