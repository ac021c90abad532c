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

// Push pushes charts to OCI registries.
type Push struct {
	// Registries are the registries to push to; nil means the zero value.
	Registries *Registries
	// Loader reads the chart's metadata; the zero value accepts the same charts as Helm.
	Loader loader.Loader
	// Progress receives the warnings of the loader; it may be nil.
	Progress progress.Func
}

// A PushRequest is the request to push a chart.
type PushRequest struct {
	// Path is the path of the chart's archive. A provenance file next to it is pushed too.
	Path string
	// Remote is a directory in a registry, "oci://host/path". The chart's name and version
	// are appended.
	Remote string
	// Host takes precedence over the credentials of Registries.
	Host fetch.HostOptions
}

// Run pushes a chart. It returns a [*RemoteError] if Remote is not a registry, and a
// [*ChartNotFoundError] if there is no archive.
func (p Push) Run(ctx context.Context, req PushRequest) (*registry.Pushed, error) {
	if !strings.HasPrefix(req.Remote, registry.Scheme) {
		return nil, &RemoteError{Remote: redactRemote(req.Remote)}
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
	report, end := registries.Transfer(filepath.Base(req.Path))
	defer end()
	artifact.Progress = report
	return client.Push(ctx, directory, artifact)
}

// open returns the artifact for the archive at path, and the file to close after pushing it.
func (p Push) open(path string) (a registry.Artifact, f io.Closer, err error) {
	archive, err := file.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil, &ChartNotFoundError{Ref: path}
	}
	if kind, ok := errors.AsType[*file.KindError](err); ok && kind.Kind.IsDir() {
		return a, nil, hint.With(fmt.Errorf("cannot push directory, must provide chart archive (.tgz): %s is a directory",
			path), fmt.Sprintf("helm package %s makes one", path))
	}
	if err != nil {
		return a, nil, fmt.Errorf("open chart: %w", err)
	}
	defer func() {
		if err != nil {
			_ = archive.Close() // opened for reading
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
	prov, err := provenance.ReadForArchive(path)
	if err != nil && !errors.As(err, new(*provenance.UnsignedError)) {
		return a, nil, err
	}
	return registry.Artifact{Metadata: c.Metadata, Archive: archive, Provenance: prov,
		Created: info.ModTime()}, archive, nil
}

// redactRemote returns a remote for messages, without credentials. It may have no scheme.
func redactRemote(remote string) string {
	if strings.Contains(remote, "://") {
		return fetch.RedactURL(remote)
	}
	return strings.TrimPrefix(fetch.RedactURL(registry.Scheme+remote), registry.Scheme)
}

// A RemoteError is returned if charts cannot be pushed to a remote.
type RemoteError struct{ Remote string }

func (e *RemoteError) Error() string {
	if scheme, _, ok := strings.Cut(e.Remote, "://"); ok {
		return fmt.Sprintf("push to %s: scheme %q not supported: charts are pushed to OCI registries only, oci://host/path",
			e.Remote, scheme)
	}
	return fmt.Sprintf("push to %s: invalid chart URL format: charts are pushed to OCI registries only, oci://host/path",
		e.Remote)
}
