// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"

	"github.com/moonhelm/moonhelm/chart/dependency"
)

// DependencyBuild makes a chart's charts/ and library/ what its lock says. It has the
// fields of [DependencyUpdate].
type DependencyBuild DependencyUpdate

// Run builds the dependencies. Without a lock it updates them. A lock that is
// not the one of what the chart lists is a *[dependency.SyncError]; an archive that
// is not the one that was locked, a *[RepublishedError].
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
		if err := l.Check(name, listsFile(c), c.Metadata); err != nil {
			return nil, err
		}
		if list.changed {
			if err := l.Fits(name, list.dependencies); err != nil {
				return nil, err
			}
		}
		return lockedWants(l), nil
	}
	return DependencyUpdate(b).run(ctx, req, choose, func(ChartDirectory, supplies) ([]byte, error) { return nil, nil })
}
