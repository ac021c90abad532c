// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
)

// Template renders a chart without installing it. Templates see its cluster; without one,
// lookup finds nothing, and capabilities are the default ones. The zero value has no cluster
// and runs no scripts.
type Template struct{ *Config }

// A TemplateRequest is the request to render a chart. Chart is required.
type TemplateRequest struct {
	Chart  *chart.Chart
	Values map[string]any
	// ValueOrigins returns where Values come from, for explanations.
	ValueOrigins OriginsFunc
	Name         string
	Namespace    string // "" means the namespace of Config.Releases, if it is set
	// KubeVersion overrides the cluster's version; APIVersions are added to the versions
	// that it serves.
	KubeVersion string
	APIVersions []string
	IsUpgrade   bool
	SkipSchema  bool
	// LookupHost implements getHostByName; nil returns "".
	LookupHost    func(host string) string
	SubchartNotes bool
	// Explain has [Template.Run] return an [Explanation] with what it renders. Rendering then takes
	// several times as long.
	Explain bool
	ValueCheck
	PatchOptions
}

// Run renders req.Chart. Errors are a [*RequestError], those of the chart and its values of
// [Install.Run], and with a cluster those of [kube.Client.Call].
func (t Template) Run(ctx context.Context, req TemplateRequest) (*Rendered, error) {
	r, err := t.rendering(ctx, req)
	if err != nil {
		return nil, err
	}
	defer r.events.end()
	if req.Explain {
		if r.explanation, err = newExplanation(r, req); err != nil {
			return nil, err
		}
	}
	rendered, err := r.run(ctx)
	if err != nil {
		return nil, err
	}
	last := &event.PostTemplate{Payload: rendered.payload}
	if err := r.events.Emit(ctx, last); err != nil {
		return nil, err
	}
	rendered.setObjects(last.Objects)
	return rendered, nil
}

// rendering resolves the values of req.Chart, and returns how to render it. The caller must end
// its events.
func (t Template) rendering(ctx context.Context, req TemplateRequest) (*rendering, error) {
	t.Config = t.forOperation()
	if err := requireChart(req.Chart, "template"); err != nil {
		return nil, err
	}
	if req.Name != "" {
		if err := CheckName(req.Name); err != nil {
			return nil, err
		}
	}
	req.Namespace = cmp.Or(req.Namespace, t.namespace())
	caps, err := capabilities(ctx, t.Cluster, req.KubeVersion, req.APIVersions)
	if err != nil {
		return nil, err
	}
	resolved, err := resolveValues(req.Chart, req.Values, t.Progress)
	if err != nil {
		return nil, err
	}
	return &rendering{
		Config:   t.Config,
		events:   t.begin(),
		command:  "template",
		dryRun:   true,
		resolved: resolved,
		release: engine.Release{Name: req.Name, Namespace: req.Namespace, Service: releaseService, Revision: 1,
			IsInstall: !req.IsUpgrade, IsUpgrade: req.IsUpgrade},
		capabilities: caps,
		lookup:       lookupIn(ctx, t.Cluster),
		lookupHost:   req.LookupHost,
		skipSchema:   req.SkipSchema,
		subNotes:     req.SubchartNotes,
		check:        valueCheck{ValueCheck: req.ValueCheck, chart: req.Chart, user: req.Values},
		patches:      req.PatchOptions,
	}, nil
}

// Values computes the values of req.Chart and its subcharts for rendering it, as Run does: it runs
// the scripts up to pre-render, and validates the values against the schemas. It returns the
// tree of charts with what conditions have left of it, and the root's values, with those of a
// subchart below its name.
func (t Template) Values(ctx context.Context, req TemplateRequest) (*chart.Chart, map[string]any, error) {
	r, err := t.rendering(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	defer r.events.end()
	pre, err := r.prepare(ctx)
	if err != nil {
		return nil, nil, err
	}
	return pre.Chart, pre.Values, nil
}

// releaseService is the value of .Release.Service.
const releaseService = "Helm"

// capabilities returns the capabilities of the cluster, or the default ones if it is nil, with
// the given versions.
func capabilities(ctx context.Context, cluster Describer, kubeVersion string,
	apiVersions []string) (*engine.Capabilities, error) {
	caps := engine.DefaultCapabilities()
	if cluster != nil {
		shared, err := cluster.Capabilities(ctx)
		if err != nil {
			return nil, err
		}
		copied := *shared
		caps = &copied
	}
	if kubeVersion != "" {
		v, err := engine.ParseKubeVersion(kubeVersion)
		if err != nil {
			return nil, err
		}
		caps.KubeVersion = v
	}
	caps.APIVersions = append(caps.APIVersions[:len(caps.APIVersions):len(caps.APIVersions)], apiVersions...)
	return caps, nil
}

func lookupIn(ctx context.Context, cluster Describer) lookupFunc {
	if cluster == nil {
		return nil
	}
	return func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		return cluster.Lookup(ctx, apiVersion, kind, namespace, name)
	}
}
