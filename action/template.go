// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
)

// Template renders a chart without installing it. Its cluster answers lookups and says
// what it is capable of; without one, lookups find nothing and capabilities are the
// default's. The zero value renders so, without scripts.
type Template struct{ *Config }

// TemplateRequest says what to render. Chart is needed, the rest may be zero.
type TemplateRequest struct {
	Chart     *chart.Chart
	Values    map[string]any
	Name      string
	Namespace string // "" is that of Config.Releases, where there are any
	// KubeVersion and APIVersions change what templates see as capabilities.
	KubeVersion string
	APIVersions []string
	IsUpgrade   bool
	SkipSchema  bool
	// LookupHost answers getHostByName; nil gives "".
	LookupHost    func(host string) string
	SubchartNotes bool
}

// Run renders req.Chart.
func (t Template) Run(ctx context.Context, req TemplateRequest) (*Rendered, error) {
	t.Config = t.forOperation()
	if err := requireChart(req.Chart, "template"); err != nil {
		return nil, err
	}
	if req.Name != "" {
		if err := CheckName(req.Name); err != nil {
			return nil, err
		}
	}
	req.Namespace = orText(req.Namespace, t.namespace())
	caps, err := capabilities(ctx, t.Cluster, req.KubeVersion, req.APIVersions)
	if err != nil {
		return nil, err
	}
	resolved, err := resolveValues(req.Chart, req.Values, t.Progress)
	if err != nil {
		return nil, err
	}
	events := t.begin()
	defer events.end()
	rendered, err := rendering{
		Config:   t.Config,
		events:   events,
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
	}.run(ctx)
	if err != nil {
		return nil, err
	}
	last := &event.PostTemplate{Payload: rendered.payload}
	if err := events.Emit(ctx, last); err != nil {
		return nil, err
	}
	rendered.setObjects(last.Objects)
	return rendered, nil
}

// releaseService is what .Release.Service says.
const releaseService = "Helm"

// capabilities are the cluster's, or the default's where there is none, with
// what the user said on top.
func capabilities(ctx context.Context, cluster Describer, kubeVersion string,
	apiVersions []string) (*engine.Capabilities, error) {
	caps := engine.DefaultCapabilities()
	if cluster != nil {
		theirs, err := cluster.Capabilities(ctx)
		if err != nil {
			return nil, err
		}
		own := *theirs // what is added below is ours alone
		caps = &own
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
