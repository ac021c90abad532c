// SPDX-License-Identifier: Apache-2.0

package op

import (
	"context"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/render"
	"github.com/moonhelm/moonhelm/resolve"
	"github.com/moonhelm/moonhelm/schema"
	"github.com/moonhelm/moonhelm/values"
)

// Archiver writes a chart as an archive and tells where.
type Archiver interface {
	// Archive writes c with the version and appVersion given in place of its
	// own, "" leaving them alone.
	Archive(ctx context.Context, c *chart.Chart, version, appVersion string) (path string, err error)
}

// Package packs a chart.
type Package struct {
	Archives Archiver
	Events   *event.Bus // nil runs no handlers
}

// PackageRequest says what to pack. Chart is needed.
type PackageRequest struct {
	Chart      *chart.Chart
	Version    string // "" is the chart's own
	AppVersion string // "" is the chart's own
	// DeriveSchema gives a chart without a schema one that its values.yaml says.
	DeriveSchema bool
}

// Run packs req.Chart and returns the archive's path. A chart that lacks
// dependencies it lists is refused: whoever gets the archive could not install
// it. What handlers change is packed; the loaded chart stays as it is.
func (p Package) Run(ctx context.Context, req PackageRequest) (string, error) {
	if err := missing(req.Chart); err != nil {
		return "", err
	}
	if _, err := resolve.Libraries(copyTree(req.Chart)); err != nil {
		return "", err
	}
	c, err := p.emit(ctx, req)
	if err != nil {
		return "", err
	}
	if req.DeriveSchema {
		if c, err = schema.AddTo(c); err != nil {
			return "", err
		}
	}
	return p.Archives.Archive(ctx, c, c.Metadata.Version, c.Metadata.AppVersion)
}

// emit lets handlers change a copy of the chart, and returns it.
func (p Package) emit(ctx context.Context, req PackageRequest) (*chart.Chart, error) {
	c := copyTree(req.Chart)
	md := *c.Metadata
	if req.Version != "" {
		md.Version = req.Version
	}
	if req.AppVersion != "" {
		md.AppVersion = req.AppVersion
	}
	c.Metadata = &md
	if p.Events == nil {
		return c, nil
	}
	resolved, err := values.Resolve(req.Chart, nil)
	if err != nil {
		return nil, err
	}
	restore, err := stage(c, resolved.Chart)
	if err != nil {
		return nil, err
	}
	before := resolved.Values
	op := operation("package", false, render.Release{}, render.DefaultCapabilities(), nil)
	scene, err := load(ctx, p.Events, op, c, before)
	if err != nil {
		return nil, err
	}
	last := &event.PrePackage{Scene: scene}
	if err := p.Events.Emit(ctx, last); err != nil {
		return nil, err
	}
	restore()
	return c, rewriteValues(c, before, last.Values)
}

// copyTree copies a tree of charts, but not their files, so that handlers can
// replace these.
func copyTree(c *chart.Chart) *chart.Chart {
	out := c.Shallow()
	below := make([]*chart.Chart, len(c.Dependencies()))
	for i, d := range c.Dependencies() {
		below[i] = copyTree(d)
	}
	out.SetDependencies(below...)
	return out
}

// stage makes the tree c what handlers see: without the charts that are not in
// resolved, because they are switched off, and with each library once. The
// function that it returns puts everything back: all of it is packed.
func stage(c, resolved *chart.Chart) (restore func(), err error) {
	on := map[*chart.File]bool{} // a chart is known by its first file
	resolved.Walk(func(c *chart.Chart) {
		if len(c.Raw) > 0 {
			on[c.Raw[0]] = true
		}
	})
	type was struct {
		below     []*chart.Chart
		libraries []*chart.Dependency
	}
	whole := map[*chart.Chart]was{}
	c.Walk(func(c *chart.Chart) { whole[c] = was{c.Dependencies(), c.Metadata.Libraries} })
	for parent, w := range whole {
		var kept []*chart.Chart
		for _, d := range w.below {
			if len(d.Raw) == 0 || on[d.Raw[0]] {
				kept = append(kept, d)
			}
		}
		parent.SetDependencies(kept...)
	}
	_, err = resolve.Libraries(c)
	return func() {
		for c, w := range whole {
			md := *c.Metadata
			md.Libraries = w.libraries // resolving lists those that nobody does
			c.Metadata = &md
			c.SetDependencies(w.below...)
		}
	}, err
}
