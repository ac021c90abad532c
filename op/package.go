// SPDX-License-Identifier: Apache-2.0

package op

import (
	"context"

	"github.com/moonhelm/moonhelm/chart"
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
}

// PackageRequest says what to pack. Chart is needed.
type PackageRequest struct {
	Chart      *chart.Chart
	Version    string // "" is the chart's own
	AppVersion string // "" is the chart's own
}

// Run packs req.Chart and returns the archive's path. A chart that lacks
// dependencies it lists is refused: whoever gets the archive could not install
// it.
func (p Package) Run(ctx context.Context, req PackageRequest) (string, error) {
	if missing := values.Missing(req.Chart); len(missing) > 0 {
		return "", &MissingDependenciesError{Chart: req.Chart.Name(), Missing: missing}
	}
	return p.Archives.Archive(ctx, req.Chart, req.Version, req.AppVersion)
}
