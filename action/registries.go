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

// Registries are OCI registries, each by the host in a reference. They implement
// [fetch.Registry]. The zero value asks without credentials and reports nothing. It is safe
// for concurrent use once its fields are set, and must not be copied.
type Registries struct {
	// HTTP makes the connections; nil for a client of its own.
	HTTP *fetch.Client
	// Credentials are used for hosts without credentials in the [fetch.HostOptions]; nil for none.
	Credentials *registry.Credentials
	// Progress is told how far transfers are; nil is not.
	Progress progress.Func

	mu      sync.Mutex
	own     fetch.Client // in place of HTTP
	clients map[fetch.HostOptions]*registry.Client
}

var _ fetch.Registry = (*Registries)(nil)

// Client returns the client that reaches registries as a has it, the same one for the same
// access. Certificates are read until ctx ends.
func (r *Registries) Client(ctx context.Context, a fetch.HostOptions) (*registry.Client, error) {
	a.PassAll = false // a registry's credentials go nowhere else
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

// At returns the place that ref names, "oci://host/path", and the client for it. The error is
// a *registry.RefError where ref names none.
func (r *Registries) At(ctx context.Context, ref string, a fetch.HostOptions) (registry.Ref, *registry.Client, error) {
	at, err := registry.ParseRef(ref)
	if err != nil {
		return at, nil, err
	}
	client, err := r.Client(ctx, a)
	return at, client, err
}

// Tags implements [fetch.Registry].
func (r *Registries) Tags(ctx context.Context, ref string, a fetch.HostOptions) ([]string, error) {
	at, client, err := r.At(ctx, ref, a)
	if err != nil {
		return nil, err
	}
	return client.Tags(ctx, at)
}

// Pull implements [fetch.Registry]. o.Progress counts, or where it is nil [Registries.Transfer].
func (r *Registries) Pull(ctx context.Context, ref string, a fetch.HostOptions, w io.Writer,
	o registry.PullOptions) (*registry.Pulled, error) {
	at, client, err := r.At(ctx, ref, a)
	if err != nil {
		return nil, err
	}
	if o.Progress == nil {
		text := at.Name()
		if at.Tag != "" {
			text += "-" + registry.VersionOf(at.Tag) + ".tgz"
		}
		tell, end := r.Transfer(text)
		defer end()
		o.Progress = tell
	}
	return client.Pull(ctx, at, w, o)
}

// transferStep is how many bytes there are between two reports.
const transferStep = 256 << 10

// Transfer returns a function that reports how far a transfer of what text names is, and one
// that reports its end, however it has ended. Neither may be called concurrently.
func (r *Registries) Transfer(text string) (tell func(done, total int64), end func()) {
	var last progress.Event
	told := int64(-transferStep)
	tell = func(done, total int64) {
		last = progress.Event{Kind: progress.Download, Text: text, Done: done, Total: total}
		if done-told >= transferStep {
			told = done
			r.Progress.Send(last)
		}
	}
	return tell, func() {
		if last.Kind != "" {
			last.Kind = progress.Fetched
			r.Progress.Send(last)
		}
	}
}
