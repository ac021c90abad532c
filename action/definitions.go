// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// Definitions reports which releases have brought which CRDs, and how these differ from those in the
// cluster.
type Definitions struct {
	Releases interface {
		Lister
		In(namespace string) *storage.Storage
	}
	Cluster LookupReader
	// Warn is called for a record that cannot be read. It may be nil.
	Warn func(text string)
}

// A LookupReader reads objects by name. [*kube.Client] implements it.
type LookupReader interface {
	// Lookup returns an object, or nil if it does not exist.
	Lookup(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error)
}

// Definition is a CRD in the cluster or of a release.
type Definition struct {
	Name  string `json:"name"` // "PLURAL.GROUP"
	Kind  string `json:"kind,omitempty"`
	Scope string `json:"scope,omitempty"`
	// Exists is set if the cluster has the definition, and Versions are those in the cluster.
	Exists   bool                `json:"exists"`
	Versions []DefinitionVersion `json:"versions"`
	Sources  []DefinitionSource  `json:"sources"`
	// Disagree is set if the releases bring different definitions.
	Disagree bool `json:"disagree"`
}

// DefinitionVersion is a version of a CRD.
type DefinitionVersion struct {
	Name    string `json:"name"`
	Served  bool   `json:"served"`
	Storage bool   `json:"storage"`
	// Stored is set if objects may be stored in the version.
	Stored bool `json:"stored,omitempty"`
}

// The states of a release's definition.
const (
	DefinitionSame    = "same"    // as in the cluster
	DefinitionDiffers = "differs" // from the cluster's
	DefinitionMissing = "missing" // in the cluster
	// DefinitionUnknown: the record has its versions only, and they are those of the cluster.
	DefinitionUnknown = "same versions"
)

// DefinitionSource is the definition that a release has brought.
type DefinitionSource struct {
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
	Revision  int    `json:"revision"`
	Chart     string `json:"chart"`  // NAME-VERSION of the chart that has it
	Source    string `json:"source"` // its file
	// Managed is set for a definition in the manifest, which upgrades change and an uninstall
	// deletes, and not for one in crds/.
	Managed bool `json:"managed"`
	// Policy is what the chart asks for, as in [CRDAnnotation]; "" for a managed one.
	Policy   CRDPolicy           `json:"policy,omitempty"`
	Versions []DefinitionVersion `json:"versions"`
	State    string              `json:"state"`

	digest string
	object map[string]any // nil if the record does not have it
}

// A DefinitionsRequest selects definitions.
type DefinitionsRequest struct {
	// Name is the name of a release or of a definition; "" selects all that releases have brought.
	Name string
}

// A DefinitionNotFoundError is returned if no release and no definition has the requested name.
type DefinitionNotFoundError struct {
	Name    string
	Similar []string
}

func (e *DefinitionNotFoundError) Error() string {
	return fmt.Sprintf("%q is neither a release nor a definition", e.Name)
}

// Hint suggests a name.
func (e *DefinitionNotFoundError) Hint() string {
	if len(e.Similar) > 0 {
		return "did you mean " + strings.Join(e.Similar, " or ") + "?"
	}
	return "helm crds lists those of the namespace, helm crds -A those of all namespaces"
}

// Run returns the definitions that the newest revisions of the releases have, sorted by name. It reads
// each of these records once and each definition once, a few at a time. Of subcharts' crds/ it knows
// what Moonhelm has recorded: Helm's records do not have them.
//
// Errors: [*ConfigError], [*DefinitionNotFoundError], and those of the driver and the API.
func (d Definitions) Run(ctx context.Context, req DefinitionsRequest) ([]Definition, error) {
	if err := requireReleases(d.Releases, "crds"); err != nil {
		return nil, err
	}
	releases, sources, err := d.sources(ctx)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for name, list := range sources {
		if req.Name == "" || req.Name == name ||
			slices.ContainsFunc(list, func(s DefinitionSource) bool { return s.Release == req.Name }) {
			wanted[name] = true
		}
	}
	if req.Name != "" && strings.Contains(req.Name, ".") {
		wanted[req.Name] = true
	}
	out, err := d.read(ctx, slices.Sorted(maps.Keys(wanted)), sources)
	if err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(x Definition) bool { return !x.Exists && len(x.Sources) == 0 })
	if req.Name != "" && len(out) == 0 && !slices.Contains(releases, req.Name) {
		return nil, notFound(req.Name, releases, sources)
	}
	return out, nil
}

func notFound(name string, releases []string, sources map[string][]DefinitionSource) error {
	names := append(slices.Collect(maps.Keys(sources)), releases...)
	slices.Sort(names)
	return &DefinitionNotFoundError{Name: name, Similar: suggest.Nearest(slices.Compact(names), name)}
}

// sources returns the names of the releases, and their definitions by name.
func (d Definitions) sources(ctx context.Context) ([]string, map[string][]DefinitionSource, error) {
	list, err := d.Releases.List(ctx, storage.Filter{})
	if err != nil {
		return nil, nil, err
	}
	var releases []string
	found := make([][]DefinitionSource, len(list))
	names := make([][]string, len(list))
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(parallelReads)
	for i, s := range list {
		releases = append(releases, s.Name)
		if s.Damaged || s.Status == release.Uninstalled {
			continue
		}
		group.Go(func() error {
			rel, err := d.Releases.In(s.Namespace).Get(reading, s.Name, s.Revision)
			if err == nil {
				names[i], found[i], err = sourcesOf(rel)
			}
			switch {
			case reading.Err() != nil:
				return reading.Err()
			case err != nil && !errors.Is(err, storage.ErrNotFound) && d.Warn != nil:
				d.Warn(fmt.Sprintf("release %s in namespace %s is left out: %s", s.Name, s.Namespace, err))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	out := map[string][]DefinitionSource{}
	for i := range list {
		for j, s := range found[i] {
			out[names[i][j]] = append(out[names[i][j]], s)
		}
	}
	return releases, out, nil
}

// sourcesOf returns the definitions of a revision, and their names: those in its manifest, in crds/ of
// its chart, and those of subcharts that the record names.
func sourcesOf(rel *release.Release) (names []string, out []DefinitionSource, err error) {
	add := func(o *manifest.Object, s DefinitionSource) error {
		object, err := o.Map()
		if err != nil {
			return err
		}
		s.Release, s.Namespace, s.Revision, s.Source = rel.Name, rel.Namespace, rel.Revision, o.Source
		s.object, s.Versions, s.digest = object, versionsOf(object), digestOf(object)
		names, out = append(names, o.Name), append(out, s)
		return nil
	}
	meta, err := rel.Metadata()
	if err != nil {
		return nil, nil, err
	}
	if strings.Contains(rel.Manifest, "CustomResourceDefinition") {
		objects, err := recordedObjects(rel)
		if err != nil {
			return nil, nil, err
		}
		for _, o := range objects {
			if isDefinition(o) {
				if err := add(o, DefinitionSource{Managed: true, Chart: nameAndVersion(meta)}); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	c, err := rel.Chart()
	if err != nil || c == nil {
		return names, out, err
	}
	definitions, err := definitionsOf(c, CRDDefault)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range definitions {
		if isDefinition(d.Object) {
			if err := add(d.Object, DefinitionSource{Chart: nameAndVersion(meta), Policy: d.policy}); err != nil {
				return nil, nil, err
			}
		}
	}
	var recorded []recordedDefinition
	if rel.Definitions != nil && json.Unmarshal(rel.Definitions, &recorded) == nil {
		for _, r := range recorded {
			names = append(names, r.Name)
			out = append(out, DefinitionSource{Release: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision,
				Chart:  r.Chart,
				Source: r.Source, Policy: r.Policy, Versions: r.Versions, digest: r.Digest})
		}
	}
	return names, out, nil
}

// definitionNames returns the names of the CRDs that a revision has in crds/, sorted; none if the
// record cannot be read.
func definitionNames(rel *release.Release) []string {
	names, sources, err := sourcesOf(rel)
	if err != nil {
		return nil
	}
	var out []string
	for i, s := range sources {
		if !s.Managed {
			out = append(out, names[i])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func nameAndVersion(m *chart.Metadata) string {
	if m == nil {
		return ""
	}
	return m.Name + "-" + m.Version
}

// recordedDefinition is what a record says about a definition in crds/ of a subchart, which the record
// does not have.
type recordedDefinition struct {
	Name     string              `json:"name"`
	Chart    string              `json:"chart"`
	Source   string              `json:"source"`
	Policy   CRDPolicy           `json:"policy,omitempty"`
	Versions []DefinitionVersion `json:"versions"`
	Digest   string              `json:"digest"`
}

// recordDefinitions stores in the record which definitions the subcharts of c have.
func (d *deployment) recordDefinitions(c *chart.Chart) error {
	if len(c.Subcharts()) == 0 {
		return nil
	}
	definitions, err := definitionsOf(c, CRDDefault)
	if err != nil {
		return err
	}
	var out []recordedDefinition
	for _, x := range definitions {
		if x.chart.IsRoot() || !isDefinition(x.Object) {
			continue
		}
		object, err := x.Map()
		if err != nil {
			return err
		}
		out = append(out, recordedDefinition{Name: x.Name, Chart: nameAndVersion(x.chart.Metadata), Source: x.Source,
			Policy:   x.policy,
			Versions: versionsOf(object), Digest: digestOf(object)})
	}
	if len(out) > 0 {
		d.release.Definitions, err = json.Marshal(out)
	}
	return err
}

// digestOf returns a digest of a definition's spec.
func digestOf(object map[string]any) string {
	text, err := json.Marshal(object["spec"]) // with sorted keys
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// versionsOf returns the versions of a CRD.
func versionsOf(object map[string]any) []DefinitionVersion {
	spec, _ := object["spec"].(map[string]any)
	status, _ := object["status"].(map[string]any)
	stored, _ := status["storedVersions"].([]any)
	list, _ := spec["versions"].([]any)
	out := []DefinitionVersion{}
	for _, item := range list {
		m, _ := item.(map[string]any)
		v := DefinitionVersion{Stored: slices.Contains(stored, m["name"])}
		v.Name, _ = m["name"].(string)
		v.Served, _ = m["served"].(bool)
		v.Storage, _ = m["storage"].(bool)
		out = append(out, v)
	}
	return out
}

// read returns the definitions with the given names as they are in the cluster.
func (d Definitions) read(ctx context.Context, names []string,
	sources map[string][]DefinitionSource) ([]Definition, error) {
	out := make([]Definition, len(names))
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(parallelReads)
	for i, name := range names {
		group.Go(func() error {
			live, err := d.Cluster.Lookup(reading, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)
			if err != nil {
				return err
			}
			out[i], err = describeDefinition(name, live, sources[name])
			return err
		})
	}
	return out, group.Wait()
}

// describeDefinition compares the definitions of releases with that of the cluster, which may be empty.
func describeDefinition(name string, live map[string]any, sources []DefinitionSource) (Definition, error) {
	out := Definition{Name: name, Exists: len(live) > 0, Versions: versionsOf(live), Sources: slices.Clone(sources)}
	described := live
	for i := range out.Sources {
		s := &out.Sources[i]
		if len(described) == 0 {
			described = s.object
		}
		out.Disagree = out.Disagree || s.digest != out.Sources[0].digest
		var err error
		if s.State, err = s.stateIn(name, live); err != nil {
			return out, err
		}
	}
	for i := range out.Sources { // one chart's content is known from another release
		for _, other := range sources {
			if s := &out.Sources[i]; s.State == DefinitionUnknown && other.object != nil && other.digest == s.digest {
				s.State, _ = other.stateIn(name, live)
			}
		}
	}
	spec, _ := described["spec"].(map[string]any)
	kinds, _ := spec["names"].(map[string]any)
	out.Kind, _ = kinds["kind"].(string)
	out.Scope, _ = spec["scope"].(string)
	if out.Sources == nil {
		out.Sources = []DefinitionSource{}
	}
	slices.SortStableFunc(out.Sources, func(a, b DefinitionSource) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Release, b.Release))
	})
	return out, nil
}

// stateIn compares the definition with the cluster's.
func (s *DefinitionSource) stateIn(name string, live map[string]any) (string, error) {
	switch {
	case len(live) == 0:
		return DefinitionMissing, nil
	case s.object == nil:
		versions := versionsOf(live)
		for i := range versions {
			versions[i].Stored = false
		}
		if !slices.Equal(versions, s.Versions) {
			return DefinitionDiffers, nil
		}
		return DefinitionUnknown, nil
	}
	p, err := plan.Compute([]plan.Item{{
		Ref:  plan.Ref{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: name},
		Live: live, New: s.object,
	}}, plan.Options{})
	if err != nil {
		return "", fmt.Errorf("compare %s of release %s: %w", name, s.Release, err)
	}
	if p.Changes() == 0 {
		return DefinitionSame, nil
	}
	return DefinitionDiffers, nil
}

var _ LookupReader = (*kube.Client)(nil)
