// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/registry"
	"github.com/moonhelm/moonhelm/repo"
)

// satisfies reports whether a version is in a range.
func satisfies(version, want string) bool {
	_, err := dependency.Version([]string{version}, want, true)
	return err == nil
}

// newer reports whether a is a newer version than b.
func newer(a, b string) bool {
	x, err := semver.NewVersion(a)
	if err != nil {
		return false
	}
	y, err := semver.NewVersion(b)
	return err == nil && x.GreaterThan(y)
}

// lockedVersion returns the version of dep in a lock, or "". Several entries may have its name: the
// one in its range is meant.
func lockedVersion(l *chart.Lock, dep *chart.Dependency) string {
	version := ""
	for _, locked := range l.Dependencies {
		if locked == nil || locked.Name != dep.Name {
			continue
		}
		if satisfies(locked.Version, dep.Version) {
			return locked.Version
		}
		version = locked.Version
	}
	return version
}

// finder finds the newest versions of charts, each once.
type finder struct {
	factory *cmdutil.Factory
	refresh bool
	host    fetch.HostOptions
	known   map[[2]string]string // by repository and chart
	warned  map[string]bool
}

// findNewest sets the newest versions in the tree below root. A repository that cannot be read is a
// warning.
func findNewest(ctx context.Context, f *cmdutil.Factory, root *dependencyNode, refresh bool,
	host fetch.HostOptions) error {
	n := finder{factory: f, refresh: refresh, host: host, known: map[[2]string]string{}, warned: map[string]bool{}}
	var visit func(d *dependencyNode) error
	visit = func(d *dependencyNode) error {
		for _, child := range d.children {
			key := [2]string{child.repository, child.chart}
			version, ok := n.known[key]
			if !ok {
				var err error
				if version, err = n.find(ctx, child.repository, child.chart); ctx.Err() != nil {
					return ctx.Err()
				} else if err != nil {
					n.warn(child.repository, err)
				}
				n.known[key] = version
			}
			child.newest = version
			if err := visit(child); err != nil {
				return err
			}
		}
		return nil
	}
	return visit(root)
}

func (n *finder) warn(repository string, err error) {
	if !n.warned[repository] {
		n.warned[repository] = true
		text := fmt.Sprintf("the newest versions in %s are not known: %v", dependency.RedactURL(repository), err)
		if hints := hint.Of(err); len(hints) > 0 {
			text += " (" + hints[0] + ")"
		}
		n.factory.Report().Send(progress.Event{Kind: progress.Warning, Text: text})
	}
}

// find returns the newest version of a chart, or "" if the repository is not one that is asked.
func (n *finder) find(ctx context.Context, repository, name string) (string, error) {
	repositories := n.factory.Repositories()
	switch {
	case repository == "" || strings.HasPrefix(repository, "file://"):
		return "", nil
	case strings.HasPrefix(repository, registry.Scheme):
		return n.findInRegistry(ctx, repository, name)
	}
	at, added := fetch.Repository{URL: repository, Host: n.host}, false
	if alias, ok := repositoryName(repository); ok {
		named, err := repositories.Named(alias)
		if err != nil {
			return "", err
		}
		at, added = named, true
	} else if known, ok := repositories.ByURL(repository); ok {
		at, added = known, true
	}
	if !added && !n.refresh {
		return "", nil // it has no index on disk
	}
	if added && n.refresh {
		if err := repositories.Update(ctx, at.Name); err != nil {
			return "", err
		}
	}
	x, err := repositories.Index(ctx, at)
	if err != nil {
		return "", err
	}
	version, err := dependency.Version(x.Versions(name), "", false)
	if err != nil {
		return "", nil // it lists no release of the chart
	}
	return version, nil
}

func (n *finder) findInRegistry(ctx context.Context, repository, name string) (string, error) {
	if !n.refresh {
		return "", nil
	}
	query, err := repo.Search{}.Query()
	if err != nil {
		return "", err
	}
	found, err := n.factory.Registry().Search(ctx, strings.TrimSuffix(repository, "/")+"/"+name, n.host, query)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].Version, nil
}

// repositoryName returns the name in "@name" and "alias:name".
func repositoryName(repository string) (string, bool) {
	if name, ok := strings.CutPrefix(repository, "@"); ok {
		return name, true
	}
	return strings.CutPrefix(repository, "alias:")
}
