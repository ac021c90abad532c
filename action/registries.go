// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"io"
	"sync"

	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/registry"
)

// Registries are OCI registries, selected by the host in a reference. They implement
// [fetch.Registry]. The zero value has no credentials and reports no progress. It is safe for
// concurrent use once its fields are set, and must not be copied.
type Registries struct {
	// HTTP creates the connections; nil means a client of its own.
	HTTP *fetch.Client
	// Credentials are used for hosts without credentials in the [fetch.HostOptions]; they
	// may be nil.
	Credentials *registry.Credentials
	// Progress receives the progress of transfers; it may be nil.
	Progress progress.Func

	mu      sync.Mutex
	own     fetch.Client // used if HTTP is nil
	clients map[fetch.HostOptions]*registry.Client
}

var _ fetch.Registry = (*Registries)(nil)

// Client returns the client for registries with the options a, always the same for the same
// options. It reads certificates until ctx ends.
func (r *Registries) Client(ctx context.Context, a fetch.HostOptions) (*registry.Client, error) {
	a.PassAll = false // registry credentials are not sent to other hosts
	r.mu.Lock()
	defer r.mu.Unlock()
	if c, ok := r.clients[a]; ok {
		return c, nil
	}
	web := r.HTTP
	if web == nil {
		web = &r.own
	}
	transport, err := web.Transport(ctx, a)
	if err != nil {
		return nil, err
	}
	others := a
	others.CertFile, others.KeyFile = "", ""
	elsewhere, err := web.Transport(ctx, others)
	if err != nil {
		return nil, err
	}
	c := &registry.Client{
		Transport: transport, Elsewhere: elsewhere, PlainHTTP: a.PlainHTTP, Username: a.Username, Password: a.Password,
		Credentials: r.Credentials,
	}
	if r.clients == nil {
		r.clients = map[fetch.HostOptions]*registry.Client{}
	}
	r.clients[a] = c
	return c, nil
}

// At parses ref, "oci://host/path", and returns the client for it. It returns a
// *registry.RefError if ref is invalid.
func (r *Registries) At(ctx context.Context, ref string, a fetch.HostOptions) (registry.Ref, *registry.Client, error) {
	parsed, err := registry.ParseRef(ref)
	if err != nil {
		return parsed, nil, err
	}
	client, err := r.Client(ctx, a)
	return parsed, client, err
}

// Tags implements [fetch.Registry].
func (r *Registries) Tags(ctx context.Context, ref string, a fetch.HostOptions) ([]string, error) {
	parsed, client, err := r.At(ctx, ref, a)
	if err != nil {
		return nil, err
	}
	return client.Tags(ctx, parsed)
}

// Pull implements [fetch.Registry]. It reports progress to o.Progress or, if that is nil, with
// [Registries.Transfer].
func (r *Registries) Pull(ctx context.Context, ref string, a fetch.HostOptions, w io.Writer,
	o registry.PullOptions) (*registry.Pulled, error) {
	parsed, client, err := r.At(ctx, ref, a)
	if err != nil {
		return nil, err
	}
	if o.Progress == nil {
		text := parsed.Name()
		if parsed.Tag != "" {
			text += "-" + registry.VersionOf(parsed.Tag) + ".tgz"
		}
		report, end := r.Transfer(text)
		defer end()
		o.Progress = report
	}
	return client.Pull(ctx, parsed, w, o)
}

// transferStep is the number of bytes between two progress events.
const transferStep = 256 << 10

// Transfer returns functions that report the progress and the end of a transfer, which text
// describes. The caller must call end even if the transfer fails. Neither function is safe for
// concurrent use.
func (r *Registries) Transfer(text string) (report func(done, total int64), end func()) {
	var last progress.Event
	reported := int64(-transferStep)
	report = func(done, total int64) {
		last = progress.Event{Kind: progress.Download, Text: text, Done: done, Total: total}
		if done-reported >= transferStep {
			reported = done
			r.Progress.Send(last)
		}
	}
	return report, func() {
		if last.Kind != "" {
			last.Kind = progress.Fetched
			r.Progress.Send(last)
		}
	}
}
