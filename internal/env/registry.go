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
	"sync"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/provenance"
	"github.com/moonhelm/moonhelm/registry"
	"github.com/moonhelm/moonhelm/repo"
)

// Registry implements fetch.Registry over package registry. It is safe for concurrent
// use.
type Registry struct {
	env     *Env
	mu      sync.Mutex
	clients map[fetch.Access]*registry.Client
}

// Registry speaks to OCI registries with the user's stored credentials.
func (e *Env) Registry() *Registry { return &Registry{env: e} }

// Client is the client that reaches registries as a has it, the same one for the
// same access.
func (r *Registry) Client(a fetch.Access) (*registry.Client, error) {
	a.PassAll = false // a registry's credentials go nowhere else
	r.mu.Lock()
	defer r.mu.Unlock()
	if c, ok := r.clients[a]; ok {
		return c, nil
	}
	transport, err := r.env.HTTP().Transport(r.env.Context, a)
	if err != nil {
		return nil, err
	}
	others := a
	others.CertFile, others.KeyFile = "", ""
	elsewhere, err := r.env.HTTP().Transport(r.env.Context, others)
	if err != nil {
		return nil, err
	}
	c := &registry.Client{
		Transport: transport, Elsewhere: elsewhere, PlainHTTP: a.PlainHTTP, Username: a.Username, Password: a.Password,
		Credentials: &registry.Credentials{File: r.env.Settings.RegistryConfig, Docker: r.env.dockerConfig()},
	}
	if r.clients == nil {
		r.clients = map[fetch.Access]*registry.Client{}
	}
	r.clients[a] = c
	return c, nil
}

// dockerConfig is the file in which Docker keeps credentials, "" where nobody
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

// Tags implements fetch.Registry.
func (r *Registry) Tags(ctx context.Context, ref string, a fetch.Access) ([]string, error) {
	at, client, err := r.at(ref, a)
	if err != nil {
		return nil, err
	}
	return client.Tags(ctx, at)
}

// Search finds versions of the chart at ref, oci://host/path/name. Registries list
// nothing but versions: the rest is known of the newest only, and of that where it
// alone is looked for, because asking about each counts as a download with some.
func (r *Registry) Search(ctx context.Context, ref string, a fetch.Access, q *repo.Query) ([]repo.Found, error) {
	at, client, err := r.at(ref, a)
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

// Pull implements fetch.Registry.
func (r *Registry) Pull(ctx context.Context, ref string, a fetch.Access, w io.Writer, o fetch.PullOptions) (fetch.Pulled, error) {
	at, client, err := r.at(ref, a)
	if err != nil {
		return fetch.Pulled{}, err
	}
	text := at.Name()
	if at.Tag != "" {
		text += "-" + registry.VersionOf(at.Tag) + ".tgz"
	}
	tell, end := r.env.transfer(text)
	defer end()
	p, err := client.Pull(ctx, at, w, registry.PullOptions{Provenance: o.Prov, Have: o.Have, Progress: tell})
	if err != nil {
		return fetch.Pulled{}, err
	}
	return fetch.Pulled{
		Name: p.Metadata.Name, Version: p.Metadata.Version, Manifest: p.Manifest, ManifestJSON: p.ManifestJSON,
		Digest: p.Digest, Size: p.Size, Provenance: p.Provenance,
	}, nil
}

// at is the place that ref names, and the client for it.
func (r *Registry) at(ref string, a fetch.Access) (registry.Ref, *registry.Client, error) {
	at, err := registry.ParseRef(ref)
	if err != nil {
		return at, nil, err
	}
	client, err := r.Client(a)
	return at, client, err
}

// shownRemote is a remote as messages show it, without a password.
func shownRemote(remote string) string {
	if strings.Contains(remote, "://") {
		return fetch.Clean(remote)
	}
	return strings.TrimPrefix(fetch.Clean(registry.Scheme+remote), registry.Scheme)
}

// Push puts the archive at path, and the provenance file beside it if there is
// one, into the folder of a registry that remote names ("oci://host/path").
func (r *Registry) Push(ctx context.Context, path, remote string, a fetch.Access) (*registry.Pushed, error) {
	if !strings.HasPrefix(remote, registry.Scheme) {
		return nil, &RemoteError{Remote: shownRemote(remote)}
	}
	folder, client, err := r.at(remote, a)
	if err != nil {
		return nil, err
	}
	f, err := file.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &action.ChartNotFoundError{Ref: path}
	}
	if kind := (*file.KindError)(nil); errors.As(err, &kind) && kind.Kind.IsDir() {
		return nil, &HintError{
			Err:  fmt.Errorf("cannot push directory, must provide chart archive (.tgz): %s is a directory", path),
			Hint: fmt.Sprintf("helm package %s makes one", path),
		}
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
	tell, end := r.env.transfer(filepath.Base(path))
	defer end()
	return client.Push(ctx, folder, registry.Artifact{
		Metadata: c.Metadata, Archive: f, Provenance: prov, Created: info.ModTime(), Progress: tell,
	})
}

// transferStep is how many bytes there are between two reports.
const transferStep = 256 << 10

// transfer returns a function that reports how far a transfer is, and one that
// reports its end, however it has ended.
func (e *Env) transfer(text string) (tell func(done, total int64), end func()) {
	report := e.Report()
	var last progress.Event
	told := int64(-transferStep)
	tell = func(done, total int64) {
		last = progress.Event{Kind: progress.Download, Text: text, Done: done, Total: total}
		if done-told >= transferStep {
			told = done
			report.Send(last)
		}
	}
	return tell, func() {
		if last.Kind != "" {
			last.Kind = progress.Fetched
			report.Send(last)
		}
	}
}

// provenanceBeside is the provenance file of an archive, nil where there is none.
func provenanceBeside(path string) ([]byte, error) {
	prov, err := provenance.ReadFile(path + ".prov")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return prov, err
}

// RemoteError tells that a chart cannot be pushed to a place of that kind.
type RemoteError struct{ Remote string }

// Schemeless tells whether only oci:// may be missing.
func (e *RemoteError) Schemeless() bool { return !strings.Contains(e.Remote, "://") }

func (e *RemoteError) Error() string {
	if scheme, _, ok := strings.Cut(e.Remote, "://"); ok {
		return fmt.Sprintf("push to %s: scheme %q not supported: charts are pushed to OCI registries only, oci://host/path", e.Remote, scheme)
	}
	return fmt.Sprintf("push to %s: invalid chart URL format: charts are pushed to OCI registries only, oci://host/path", e.Remote)
}
