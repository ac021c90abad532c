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
	rel, objects, err := readObjects(ctx, s.Releases, s.Cluster != nil, name, revision)
	if err != nil {
		return nil, err
	}
	live, err := s.Cluster.Live(ctx, objects, rel.Namespace)
	if err != nil {
		return nil, err
	}
	return &ReleaseStatus{Release: rel, Objects: live}, nil
}

// readObjects reads a release and the objects in its manifest, to look for them in a cluster.
func readObjects(ctx context.Context, records Storage, hasCluster bool, name string, revision int) (
	*release.Release, []*manifest.Object, error) {
	if err := requireReleases(records, "status"); err != nil {
		return nil, nil, err
	}
	if !hasCluster {
		return nil, nil, &ConfigError{Operation: "status", Field: "Cluster"}
	}
	if err := CheckName(name); err != nil {
		return nil, nil, err
	}
	rel, err := records.Get(ctx, name, revision)
	if err != nil {
		return nil, nil, err
	}
	objects, err := manifest.ParseManifest(rel.Manifest)
	if err != nil {
		return nil, nil, fmt.Errorf("read the manifest of release %s: %w", name, err)
	}
	return rel, objects, nil
}

// A TreeReader reads live objects with what they own. [*status.Reader] implements it.
type TreeReader interface {
	Tree(ctx context.Context, objects []*manifest.Object, namespace string) (*status.Tree, error)
}

// StatusTree reads a release and its live objects, with all that these own.
type StatusTree struct {
	Releases Storage
	Cluster  TreeReader
}

// ReleaseTree is a release with the tree of its objects.
type ReleaseTree struct {
	Release *release.Release
	Tree    *status.Tree
}

// Run reads the release and the tree of its objects. If revision is 0, it reads the newest revision.
// Its errors are those of [Status.Run].
func (s StatusTree) Run(ctx context.Context, name string, revision int) (*ReleaseTree, error) {
	rel, objects, err := readObjects(ctx, s.Releases, s.Cluster != nil, name, revision)
	if err != nil {
		return nil, err
	}
	tree, err := s.Cluster.Tree(ctx, objects, rel.Namespace)
	if err != nil {
		return nil, err
	}
	return &ReleaseTree{Release: rel, Tree: tree}, nil
}
