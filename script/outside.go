// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/moonhelm/moonhelm/script/wire"
)

// Outside answers the questions of a script that runs without a [Host] and with all
// permissions of the user: a plugin.
type Outside struct {
	// Transport carries HTTP requests; nil is [http.DefaultTransport].
	Transport http.RoundTripper
	// Lookup reads from the cluster, as templates' lookup does; nil finds nothing.
	Lookup func(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error)

	resolve func(ctx context.Context, name string) ([]string, error) // as in [Host]
}

// Answer returns the answer to a question, both as package wire describes them. kind is
// [wire.HTTP], [wire.Host] or [wire.Lookup]; any other is an error.
func (o Outside) Answer(ctx context.Context, kind wire.Kind, body map[string]any) (map[string]any, error) {
	switch kind {
	case wire.HTTP:
		return o.fetch(ctx, body)
	case wire.Host:
		return o.lookupHost(ctx, fields(body).text("name"))
	case wire.Lookup:
		return o.lookup(ctx, body)
	}
	return nil, fmt.Errorf("a %s message is not a question", kind)
}

func (o Outside) lookup(ctx context.Context, question fields) (map[string]any, error) {
	var found map[string]any
	if o.Lookup != nil {
		var err error
		found, err = o.Lookup(ctx, question.text("apiVersion"), question.text("kind"), question.text("namespace"),
			question.text("name"))
		if err != nil {
			return nil, err
		}
	}
	v, err := plain(table(found), true, 0)
	return map[string]any{"value": v}, err
}

func (o Outside) lookupHost(ctx context.Context, name string) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	resolve := net.DefaultResolver.LookupHost
	if o.resolve != nil {
		resolve = o.resolve
	}
	addresses, err := resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	return map[string]any{"addresses": texts(addresses)}, nil
}
