// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moonhelm/moonhelm/engine"
)

// Capabilities returns the cluster's version and every "group/version" and "group/version/Kind"
// that it serves now, for templates. Errors are those of [Client.Call].
func (c *Client) Capabilities(ctx context.Context) (*engine.Capabilities, error) {
	var version engine.KubeVersion
	var served *kinds
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { version, err = c.Version(gctx); return err })
	group.Go(func() (err error) { served, err = c.currentKinds(gctx); return err })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	caps := engine.DefaultCapabilities()
	caps.KubeVersion = version
	caps.APIVersions = served.versions()
	return caps, nil
}

func (k *kinds) versions() []string {
	var out []string
	for _, list := range [][]groupVersion{k.CoreVersions, k.GroupVersions} {
		for _, gv := range list {
			name := gv.String()
			out = append(out, name)
			for i, r := range gv.Resources {
				if i == 0 || gv.Resources[i-1].Kind != r.Kind {
					out = append(out, name+"/"+r.Kind)
				}
			}
			for _, kind := range gv.SubresourceKinds {
				out = append(out, name+"/"+kind)
			}
		}
	}
	return out
}

// Version returns the server's version. Errors are those of [Client.Call].
func (c *Client) Version(ctx context.Context) (engine.KubeVersion, error) {
	body, err := c.Call(ctx, http.MethodGet, "/version", nil, nil, nil)
	if err != nil {
		return engine.KubeVersion{}, err
	}
	var info struct{ Major, Minor, GitVersion string }
	if err := json.Unmarshal(body, &info); err != nil {
		return engine.KubeVersion{}, fmt.Errorf("read the server's version: %w", err)
	}
	v, err := engine.ParseKubeVersion(info.GitVersion)
	if err != nil {
		return v, err
	}
	// Keep the server's own strings, such as a provider's minor version "36+".
	v.Version, v.Major, v.Minor = info.GitVersion, info.Major, info.Minor
	return v, nil
}

// Lookup returns one object, or a list of all if name is empty, in the form that templates use.
// If the object does not exist, Lookup returns an empty map; if the cluster does not serve the
// kind, it returns a [*NoMatchError].
func (c *Client) Lookup(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
	key := Kind{apiVersion, kind}
	found, err := c.Resolve(ctx, []Kind{key})
	if err != nil {
		return nil, err
	}
	r := found[key]
	if r == nil {
		return nil, &NoMatchError{Missing: []string{kind + " in " + apiVersion}, Objects: []string{"lookup"}}
	}
	if r.Namespaced && namespace == "" && name != "" {
		return map[string]any{}, nil // a namespaced object without a namespace does not exist
	}
	body, err := c.Call(ctx, http.MethodGet, r.Path(namespace, name), nil, nil, nil)
	if apierrors.IsNotFound(err) {
		return map[string]any{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", ObjectName(kind, namespace, name), err)
	}
	var out map[string]any
	if err := k8sjson.Unmarshal(body, &out); err != nil {
		return nil, fmt.Errorf("look up %s: %w", ObjectName(kind, namespace, name), err)
	}
	if name == "" {
		fillItems(out, apiVersion, kind)
	}
	return out, nil
}

// fillItems sets apiVersion and kind on each item of a list; the server omits them.
func fillItems(list map[string]any, apiVersion, kind string) {
	items, _ := list["items"].([]any)
	for _, item := range items {
		if m, ok := item.(map[string]any); ok && m["kind"] == nil {
			m["apiVersion"], m["kind"] = apiVersion, kind
		}
	}
}
