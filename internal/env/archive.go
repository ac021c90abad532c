// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/provenance"
)

// Archives writes charts into a folder, as package action calls it.
type Archives struct {
	dir     string
	modTime time.Time
	// Signer has every archive signed, nil none.
	Signer *provenance.Signer
}

// Archives returns a writer into dir. The time that entries carry is
// SOURCE_DATE_EPOCH's, where that is set.
func (e *Env) Archives(dir string) (Archives, error) {
	modTime, err := loader.ModTime(e.Getenv)
	return Archives{dir: dir, modTime: modTime}, err
}

// Archive implements action.Archiver.
func (a Archives) Archive(ctx context.Context, c *chart.Chart, version, appVersion string) (string, error) {
	path, err := loader.Save(c, a.dir, loader.Options{
		ModTime: a.modTime, Version: version, AppVersion: appVersion, Sign: signing(ctx, a.Signer),
	})
	if unsigned := (*loader.SignError)(nil); errors.As(err, &unsigned) {
		return "", err
	}
	if err != nil {
		return "", fmt.Errorf("write the archive: %w", err)
	}
	return path, nil
}
