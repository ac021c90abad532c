// SPDX-License-Identifier: Apache-2.0

package get

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// metadata is the JSON of `helm get metadata`. The keys are Helm's.
type metadata struct {
	Name         string              `json:"name"`
	Chart        string              `json:"chart"`
	Version      string              `json:"version"`
	AppVersion   string              `json:"appVersion"`
	Annotations  map[string]string   `json:"annotations,omitempty"`
	Labels       map[string]string   `json:"labels,omitempty"`
	Dependencies []*chart.Dependency `json:"dependencies,omitempty"`
	Namespace    string              `json:"namespace"`
	Revision     int                 `json:"revision"`
	Status       string              `json:"status"`
	DeployedAt   string              `json:"deployedAt"`
	ApplyMethod  string              `json:"applyMethod,omitempty"`
}

func printMetadata(f *cmdutil.Factory, o Options, rel *release.Release) error {
	labels := rel.Labels
	if o.Revision == 0 { // with --revision Helm shows only the user's labels
		var err error
		if labels, err = recordLabels(f, rel); err != nil {
			return err
		}
	}
	m := metadata{
		Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision, Labels: labels,
		Status: string(rel.Info.Status), DeployedAt: rel.Info.LastDeployed.Format(time.RFC3339), ApplyMethod: rel.ApplyMethod,
	}
	meta, err := rel.Metadata()
	if err != nil {
		return err
	}
	if meta != nil {
		m.Chart, m.Version, m.AppVersion = meta.Name, meta.Version, meta.AppVersion
		m.Annotations, m.Dependencies = meta.Annotations, meta.Dependencies
	}
	return o.Output.Write(f.Out, m, func(w io.Writer) error { return m.table(term.SafeWriter(w)) })
}

// recordLabels returns all labels of a release's record, not only the user's, as Helm shows them.
func recordLabels(f *cmdutil.Factory, rel *release.Release) (map[string]string, error) {
	records, err := f.Records(f.Namespace())
	if err != nil {
		return nil, err
	}
	labels := rel.Labels
	_, err = records.List(f.Context, storage.Filter{
		AllRevisions: true,
		Name:         func(name string) bool { return name == rel.Name },
		Match: func(all map[string]string) bool {
			if all["version"] == strconv.Itoa(rel.Revision) {
				labels = all
			}
			return false // reads no record
		},
	})
	return labels, err
}

func (m metadata) table(w io.Writer) error {
	var deps []string
	for _, d := range m.Dependencies {
		if d != nil { // a record may contain null
			deps = append(deps, d.Name)
		}
	}
	slices.Sort(deps) // JSON and YAML have the chart's order
	method := "client-side apply"
	switch m.ApplyMethod {
	case release.ApplyServerSide:
		method = "server-side apply"
	case "": // a record of Helm 3
		method += " (defaulted)"
	}
	_, err := fmt.Fprintf(w, `NAME: %s
CHART: %s
VERSION: %s
APP_VERSION: %s
ANNOTATIONS: %s
LABELS: %s
DEPENDENCIES: %s
NAMESPACE: %s
REVISION: %d
STATUS: %s
DEPLOYED_AT: %s
APPLY_METHOD: %s
`, m.Name, m.Chart, m.Version, m.AppVersion, pairs(m.Annotations), pairs(m.Labels),
		strings.Join(deps, ","), m.Namespace, m.Revision, m.Status, m.DeployedAt, method)
	return err
}

func pairs(m map[string]string) string {
	out := make([]string, 0, len(m))
	for k, v := range m {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}
