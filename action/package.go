// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/chart/schema"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/provenance"
)

// Package packs a chart.
type Package struct {
	Events *event.Bus // nil runs no handlers
}

// PackageRequest says what to pack. Chart is needed.
type PackageRequest struct {
	Chart      *chart.Chart
	Version    string // "" is the chart's own
	AppVersion string // "" is the chart's own
	// DeriveSchema gives a chart without a schema one that its values.yaml says.
	DeriveSchema bool
	// Directory is where the archive is written; "" is the current one.
	Directory string
	// ModTime is the time that entries of the archive bear; see [loader.Options].
	ModTime time.Time
	// Signer makes a provenance file beside the archive; nil makes none.
	Signer *provenance.Signer
}

// Run packs req.Chart and returns the archive's path. A chart that lacks
// dependencies it lists is refused: the archive could not be
// installed. What handlers change is packed; the loaded chart stays as it is.
func (p Package) Run(ctx context.Context, req PackageRequest) (string, error) {
	if err := requireChart(req.Chart, "package"); err != nil {
		return "", err
	}
	if err := missing(req.Chart); err != nil {
		return "", err
	}
	if _, err := dependency.Libraries(copyTree(req.Chart)); err != nil {
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
	options := loader.Options{ModTime: req.ModTime, Version: c.Metadata.Version, AppVersion: c.Metadata.AppVersion}
	if req.Signer != nil {
		options.Sign = func(name string, r io.Reader, m *chart.Metadata) ([]byte, error) {
			return req.Signer.SignChart(ctx, name, r, m)
		}
	}
	path, err := loader.Save(c, req.Directory, options)
	var unsigned *loader.SignError
	if err == nil || errors.As(err, &unsigned) {
		return path, err
	}
	return "", fmt.Errorf("write the archive: %w", err)
}

// emit lets handlers change a copy of the chart, and returns it.
func (p Package) emit(ctx context.Context, req PackageRequest) (*chart.Chart, error) {
	c := copyTree(req.Chart)
	version, appVersion := c.Version(), c.AppVersion()
	if req.Version != "" {
		version = req.Version
	}
	if req.AppVersion != "" {
		appVersion = req.AppVersion
	}
	c.Metadata = withVersions(c.Metadata, version, appVersion)
	if p.Events == nil {
		return c, nil
	}
	resolved, err := values.Resolve(req.Chart, nil)
	if err != nil {
		return nil, err
	}
	seen, before := resolved.Chart, resolved.Values
	adopt, err := stage(c, seen)
	if err != nil {
		return nil, err
	}
	seen.Metadata = withVersions(seen.Metadata, version, appVersion)
	op := operation("package", false, engine.Release{}, engine.DefaultCapabilities(), nil)
	payload, err := load(ctx, p.Events, op, seen, before)
	if err != nil {
		return nil, err
	}
	last := &event.PrePackage{Payload: payload}
	if err := p.Events.Emit(ctx, last); err != nil {
		return nil, err
	}
	if err := adopt(); err != nil {
		return nil, err
	}
	c.Metadata = withVersions(c.Metadata, seen.Version(), seen.AppVersion())
	return c, rewriteValues(c, before, last.Values)
}

// withVersions is a copy of m with these versions.
func withVersions(m *chart.Metadata, version, appVersion string) *chart.Metadata {
	md := *m
	md.Version, md.AppVersion = version, appVersion
	return &md
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
