// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"

	"github.com/moonhelm/moonhelm/chart/dependency"
)

// DependencyBuild vendors a chart's dependencies in their locked versions. It has the fields
// of [DependencyUpdate].
type DependencyBuild DependencyUpdate

// Run writes the locked dependencies to charts/ and library/. If the chart has no lock, Run
// updates the dependencies. It returns a [*dependency.SyncError] if the lock is out of sync
// with the chart, and a [*RepublishedError] if an archive differs from the locked one. Other
// errors are those of [DependencyUpdate.Run].
func (b DependencyBuild) Run(ctx context.Context, req DependencyRequest) error {
	if req.Directory == nil {
		return &RequestError{Operation: "build dependencies", Field: "Directory"}
	}
	name, text, err := req.Directory.Lock()
	switch {
	case err != nil:
		return err
	case text == nil:
		return DependencyUpdate(b).Run(ctx, req)
	}
	l, err := dependency.ParseLock(name, text)
	if err != nil {
		return err
	}
	c := req.Directory.Chart()
	choose := func(list listing) ([]Dependency, error) {
		if err := l.Check(name, dependenciesFile(c), c.Metadata); err != nil {
			return nil, err
		}
		if list.changed {
			if err := l.Fits(name, list.dependencies); err != nil {
				return nil, err
			}
		}
		return lockedDependencies(l), nil
	}
	keepLock := func(ChartDirectory, resolution) ([]byte, error) { return nil, nil }
	return DependencyUpdate(b).run(ctx, req, choose, keepLock)
}
