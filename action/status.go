// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// LiveReader reads objects as they are in the cluster.
type LiveReader interface {
	// Live returns each object as it is now, in the same order, and after them
	// the pods that belong to those that make pods.
	Live(ctx context.Context, objects []*manifest.Object, namespace string) ([]LiveObject, error)
}

// Status tells how a release and its objects are.
type Status struct {
	Releases Records
	Cluster  LiveReader
}

// LiveObject is an object of a release as it is now.
type LiveObject struct {
	APIVersion, Kind, Name string
	// Live is nil where the object is not in the cluster.
	Live map[string]any
	// Columns and Cells are how the API server prints the object in a table.
	Columns, Cells []string
	// Related marks objects that are not the release's own but belong to one
	// that is, such as a Deployment's pods.
	Related bool
}

// Section is the heading under which lists show the object: "v1/Deployment",
// "v1/Pod(related)".
func (o LiveObject) Section() string {
	version := o.APIVersion
	if i := strings.LastIndexByte(version, '/'); i >= 0 {
		version = version[i+1:]
	}
	section := version + "/" + o.Kind
	if o.Related {
		section += "(related)"
	}
	return section
}

// ReleaseStatus is a release with its objects.
type ReleaseStatus struct {
	Release *release.Release
	Objects []LiveObject
}

// Run reads the release, the newest revision where revision is 0, and its
// objects.
func (s Status) Run(ctx context.Context, name string, revision int) (*ReleaseStatus, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	rel, err := s.Releases.Revision(ctx, name, revision)
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
