// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/provenance"
	"github.com/moonhelm/moonhelm/registry"
)

// Push puts charts into OCI registries.
type Push struct {
	// Registries are those; nil is the zero value.
	Registries *Registries
	// Loader reads the chart's metadata; the zero value reads what Helm does.
	Loader loader.Loader
	// Progress is told what the loader warns of; nil is not.
	Progress progress.Func
}

// PushRequest says what is pushed.
type PushRequest struct {
	// Path is the chart's archive. Where a provenance file is next to it, that is pushed
	// with it.
	Path string
	// Remote is the directory of a registry, "oci://host/path". The chart's name and
	// version are added to it.
	Remote string
	// Host is used before the credentials of Registries.
	Host fetch.HostOptions
}

// Run pushes. The error is a [*RemoteError] where Remote is not a registry, and a
// [*ChartNotFoundError] where there is no archive.
func (p Push) Run(ctx context.Context, req PushRequest) (*registry.Pushed, error) {
	if !strings.HasPrefix(req.Remote, registry.Scheme) {
		return nil, &RemoteError{Remote: shownRemote(req.Remote)}
	}
	registries := p.Registries
	if registries == nil {
		registries = &Registries{}
	}
	directory, client, err := registries.At(ctx, req.Remote, req.Host)
	if err != nil {
		return nil, err
	}
	artifact, f, err := p.open(req.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	tell, end := registries.Transfer(filepath.Base(req.Path))
	defer end()
	artifact.Progress = tell
	return client.Push(ctx, directory, artifact)
}

// open returns what is pushed of the archive at path, and the file to be closed behind it.
func (p Push) open(path string) (a registry.Artifact, f io.Closer, err error) {
	archive, err := file.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil, &ChartNotFoundError{Ref: path}
	}
	if kind := (*file.KindError)(nil); errors.As(err, &kind) && kind.Kind.IsDir() {
		return a, nil, hint.With(fmt.Errorf("cannot push directory, must provide chart archive (.tgz): %s is a directory",
			path), fmt.Sprintf("helm package %s makes one", path))
	}
	if err != nil {
		return a, nil, fmt.Errorf("open chart: %w", err)
	}
	defer func() {
		if err != nil {
			_ = archive.Close() // it was read only
		}
	}()
	info, err := archive.Stat()
	if err != nil {
		return a, nil, fmt.Errorf("open chart: %w", err)
	}
	c, warnings, err := p.Loader.LoadArchive(path, archive)
	for _, w := range warnings {
		p.Progress.Send(progress.Event{Kind: progress.Warning, Text: w})
	}
	if err != nil {
		return a, nil, err
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return a, nil, err
	}
	prov, err := provenance.Beside(path)
	if err != nil && !errors.As(err, new(*provenance.UnsignedError)) {
		return a, nil, err
	}
	return registry.Artifact{Metadata: c.Metadata, Archive: archive, Provenance: prov,
		Created: info.ModTime()}, archive, nil
}

// shownRemote is a remote as messages show it, without a password.
func shownRemote(remote string) string {
	if strings.Contains(remote, "://") {
		return fetch.Clean(remote)
	}
	return strings.TrimPrefix(fetch.Clean(registry.Scheme+remote), registry.Scheme)
}

// A RemoteError is returned when a chart cannot be pushed to a place of that kind.
type RemoteError struct{ Remote string }

func (e *RemoteError) Error() string {
	if scheme, _, ok := strings.Cut(e.Remote, "://"); ok {
		return fmt.Sprintf("push to %s: scheme %q not supported: charts are pushed to OCI registries only, oci://host/path",
			e.Remote, scheme)
	}
	return fmt.Sprintf("push to %s: invalid chart URL format: charts are pushed to OCI registries only, oci://host/path",
		e.Remote)
}
