// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/provenance"
	"github.com/moonhelm/moonhelm/registry"
	"github.com/moonhelm/moonhelm/repo"
)

// Registry is the user's OCI registries, with what only commands do there.
type Registry struct {
	*action.Registries
	env *Env
}

// Registry speaks to OCI registries with the user's stored credentials.
func (e *Env) Registry() *Registry {
	return &Registry{env: e, Registries: &action.Registries{
		HTTP:        e.HTTP(),
		Credentials: &registry.Credentials{File: e.Settings.RegistryConfig, Docker: e.dockerConfig()},
		Progress:    e.Report(),
	}}
}

// dockerConfig is the file in which Docker keeps credentials, "" where no one
// can tell.
func (e *Env) dockerConfig() string {
	if dir := e.Getenv("DOCKER_CONFIG"); dir != "" {
		return filepath.Join(dir, "config.json")
	}
	if home := e.Getenv("HOME"); home != "" {
		return filepath.Join(home, ".docker", "config.json")
	}
	if home := e.Getenv("USERPROFILE"); home != "" { // Windows
		return filepath.Join(home, ".docker", "config.json")
	}
	return ""
}

// Search finds versions of the chart at ref, oci://host/path/name. Registries list
// nothing but versions: the rest is known of the newest only, and of that where it
// alone is looked for, because asking about each counts as a download with some.
func (r *Registry) Search(ctx context.Context, ref string, a fetch.Access, q *repo.Query) ([]repo.Found, error) {
	at, client, err := r.At(ctx, ref, a)
	if err != nil {
		return nil, err
	}
	if at.Tag != "" || at.Digest != "" {
		return nil, fmt.Errorf("%s: --version looks for a version", ref)
	}
	tags, err := client.Tags(ctx, at)
	if err != nil {
		return nil, err
	}
	var found []repo.Found
	for _, v := range q.Choose(dependency.Versions(tags)) {
		found = append(found, repo.Found{Name: registry.Scheme + at.String(), Version: v})
	}
	if len(found) != 1 {
		return found, nil
	}
	at.Tag = registry.TagOf(found[0].Version)
	meta, err := client.Metadata(ctx, at)
	if err != nil {
		return nil, err
	}
	found[0].AppVersion, found[0].Description, found[0].Library = meta.AppVersion, meta.Description, meta.Type == chart.TypeLibrary
	return found, nil
}

// shownRemote is a remote as messages show it, without a password.
func shownRemote(remote string) string {
	if strings.Contains(remote, "://") {
		return fetch.Clean(remote)
	}
	return strings.TrimPrefix(fetch.Clean(registry.Scheme+remote), registry.Scheme)
}

// Push puts the archive at path, and the provenance file beside it if there is
// one, into the directory of a registry that remote names ("oci://host/path").
func (r *Registry) Push(ctx context.Context, path, remote string, a fetch.Access) (*registry.Pushed, error) {
	if !strings.HasPrefix(remote, registry.Scheme) {
		return nil, &RemoteError{Remote: shownRemote(remote)}
	}
	directory, client, err := r.At(ctx, remote, a)
	if err != nil {
		return nil, err
	}
	f, err := file.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &action.ChartNotFoundError{Ref: path}
	}
	if kind := (*file.KindError)(nil); errors.As(err, &kind) && kind.Kind.IsDir() {
		return nil, hint.With(fmt.Errorf("cannot push directory, must provide chart archive (.tgz): %s is a directory", path), fmt.Sprintf("helm package %s makes one", path))
	}
	if err != nil {
		return nil, fmt.Errorf("open chart: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open chart: %w", err)
	}
	c, err := r.env.loaded(r.env.Loader().LoadArchive(path, f))
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	prov, err := provenanceBeside(path)
	if err != nil {
		return nil, err
	}
	tell, end := r.Transfer(filepath.Base(path))
	defer end()
	return client.Push(ctx, directory, registry.Artifact{
		Metadata: c.Metadata, Archive: f, Provenance: prov, Created: info.ModTime(), Progress: tell,
	})
}

// provenanceBeside is the provenance file of an archive, nil where there is none.
func provenanceBeside(path string) ([]byte, error) {
	prov, err := provenance.ReadFile(path + ".prov")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return prov, err
}

// A RemoteError is returned when a chart cannot be pushed to a place of that kind.
type RemoteError struct{ Remote string }

func (e *RemoteError) Error() string {
	if scheme, _, ok := strings.Cut(e.Remote, "://"); ok {
		return fmt.Sprintf("push to %s: scheme %q not supported: charts are pushed to OCI registries only, oci://host/path", e.Remote, scheme)
	}
	return fmt.Sprintf("push to %s: invalid chart URL format: charts are pushed to OCI registries only, oci://host/path", e.Remote)
}

// Hint says how to name a registry, or what to push to others with.
func (e *RemoteError) Hint() string {
	if strings.Contains(e.Remote, "://") {
		return "other kinds of servers have plugins of their own to upload with"
	}
	return fmt.Sprintf("did you mean oci://%s?", e.Remote)
}
