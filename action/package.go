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

// Package writes a chart's archive.
type Package struct {
	Events *event.Bus // nil runs no handlers
}

// A PackageRequest is the request to package a chart. Chart is required.
type PackageRequest struct {
	Chart      *chart.Chart
	Version    string // "" means the chart's version
	AppVersion string // "" means the chart's appVersion
	// DeriveSchema adds a schema derived from values.yaml to a chart without one.
	DeriveSchema bool
	// Directory is the directory to write the archive to; "" means the current one.
	Directory string
	// ModTime is the modification time of the files in the archive; see [loader.Options].
	ModTime time.Time
	// Signer signs the archive with a provenance file next to it; nil does not sign.
	Signer *provenance.Signer
}

// Run writes the archive of req.Chart and returns its path. It returns a
// [*MissingDependenciesError] if dependencies are missing, because the archive could not be
// installed, a [*RequestError] without a Chart, and the errors of [loader.Save]. The archive contains
// the changes of handlers; req.Chart does not change.
func (p Package) Run(ctx context.Context, req PackageRequest) (string, error) {
	if err := requireChart(req.Chart, "package"); err != nil {
		return "", err
	}
	if err := checkDependencies(req.Chart); err != nil {
		return "", err
	}
	if _, err := dependency.Libraries(req.Chart.CopyTree()); err != nil {
		return "", err
	}
	c, err := p.emitPrePackage(ctx, req)
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

// emitPrePackage emits pre-package and returns a copy of the chart with the changes of
// handlers.
func (p Package) emitPrePackage(ctx context.Context, req PackageRequest) (*chart.Chart, error) {
	c := req.Chart.CopyTree()
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
	adopt, err := stageFiles(c, seen)
	if err != nil {
		return nil, err
	}
	seen.Metadata = withVersions(seen.Metadata, version, appVersion)
	op := newOperation("package", false, engine.Release{}, engine.DefaultCapabilities(), nil)
	payload, err := emitLoaded(ctx, p.Events, op, seen, before)
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

// withVersions returns a copy of m with the given versions.
func withVersions(m *chart.Metadata, version, appVersion string) *chart.Metadata {
	md := *m
	md.Version, md.AppVersion = version, appVersion
	return &md
}
