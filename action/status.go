// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"

	"github.com/moonhelm/moonhelm/kube/status"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// A LiveReader reads live objects. [*status.Reader] implements it.
type LiveReader interface {
	Live(ctx context.Context, objects []*manifest.Object, namespace string) ([]status.LiveObject, error)
}

// Status reads a release and its live objects.
type Status struct {
	Releases Storage
	Cluster  LiveReader
}

// ReleaseStatus is a release with its live objects.
type ReleaseStatus struct {
	Release *release.Release
	Objects []status.LiveObject
}

// Run reads the release and its live objects. If revision is 0, it reads the newest revision.
// Errors: [*ConfigError], [ErrNoName], [*storage.NotFoundError], [*storage.UnreadableError],
// and those of [kube.Client.Call].
func (s Status) Run(ctx context.Context, name string, revision int) (*ReleaseStatus, error) {
	if err := requireReleases(s.Releases, "status"); err != nil {
		return nil, err
	}
	if s.Cluster == nil {
		return nil, &ConfigError{Operation: "status", Field: "Cluster"}
	}
	if err := CheckName(name); err != nil {
		return nil, err
	}
	rel, err := s.Releases.Get(ctx, name, revision)
	if err != nil {
		return nil, err
	}
	objects, err := manifest.ParseManifest(rel.Manifest)
	if err != nil {
		return nil, fmt.Errorf("read the manifest of release %s: %w", name, err)
	}
	live, err := s.Cluster.Live(ctx, objects, rel.Namespace)
	if err != nil {
		return nil, err
	}
	return &ReleaseStatus{Release: rel, Objects: live}, nil
}
