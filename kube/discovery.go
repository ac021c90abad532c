// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/manifest"
)

// discovery caches the kinds that a cluster serves, in memory and on disk. It is revalidated
// when a kind is missing, with the ETags of the previous responses.
type discovery struct {
	mu        sync.Mutex
	cacheRead bool      // whether the cache file was read
	asked     time.Time // of the server's last response
	kinds     *kinds
	index     map[string]*Resource // by groupVersion and kind
}

// freshness is how long a response is used without revalidation: longer than a short command
// runs, so that it asks once, and short enough that a long-running program notices kinds that
// other clients define.
const freshness = 10 * time.Second

func (d *discovery) isFresh() bool { return time.Since(d.asked) < freshness }

// kinds is the content of the cache file.
type kinds struct {
	Server string `json:"server"`
	// Core and Groups are the ETags of the responses to /api and /apis.
	Core   string `json:"core"`
	Groups string `json:"groups"`
	// CoreVersions and GroupVersions are the contents of these responses.
	CoreVersions  []groupVersion `json:"coreVersions"`
	GroupVersions []groupVersion `json:"groupVersions"`
}

type groupVersion struct {
	Group     string     `json:"group,omitempty"`
	Version   string     `json:"version"`
	Resources []Resource `json:"resources"`
	// SubresourceKinds lists the kinds of subresources, which templates see in .Capabilities.
	SubresourceKinds []string `json:"also,omitempty"`
}

func (g groupVersion) String() string {
	if g.Group == "" {
		return g.Version
	}
	return g.Group + "/" + g.Version
}

// Resource is the REST mapping of a kind.
type Resource struct {
	Kind       string `json:"kind"`
	Plural     string `json:"plural"`
	Namespaced bool   `json:"namespaced,omitempty"`

	// APIVersion is "version" or "group/version".
	APIVersion string `json:"-"`
}

// Path returns the API path of the object with the given name, or of the collection if name is
// empty. If namespace is empty, the path is cluster-wide.
func (r *Resource) Path(namespace, name string) string {
	var b strings.Builder
	b.WriteString("/apis/")
	if !strings.Contains(r.APIVersion, "/") {
		b.Reset()
		b.WriteString("/api/")
	}
	b.WriteString(r.APIVersion)
	if r.Namespaced && namespace != "" {
		b.WriteString("/namespaces/")
		b.WriteString(namespace)
	}
	b.WriteByte('/')
	b.WriteString(r.Plural)
	if name != "" {
		b.WriteByte('/')
		b.WriteString(name)
	}
	return b.String()
}

// Resolve returns the resource of each kind in wanted. If one is missing from the cache, it
// asks the server. A kind that the server does not serve is nil in the result. Errors are those
// of [Client.Call].
func (c *Client) Resolve(ctx context.Context, wanted []Kind) (map[Kind]*Resource, error) {
	d := &c.discovery
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := c.load(ctx); err != nil {
		return nil, err
	}
	found, complete := d.lookup(wanted)
	if !complete && !d.isFresh() {
		if err := c.refresh(ctx); err != nil {
			return nil, err
		}
		found, _ = d.lookup(wanted)
	}
	return found, nil
}

// Kind identifies a kind by the two fields of a manifest.
type Kind struct{ APIVersion, Kind string }

func (d *discovery) lookup(wanted []Kind) (map[Kind]*Resource, bool) {
	found := make(map[Kind]*Resource, len(wanted))
	complete := true
	for _, k := range wanted {
		r := d.index[k.APIVersion+" "+k.Kind]
		found[k] = r
		complete = complete && r != nil
	}
	return found, complete
}

// Preferred returns the resource of a kind in the version of its group that the server prefers,
// or nil if there is none. It makes no request: it uses what was discovered so far.
func (c *Client) Preferred(group, kind string) *Resource {
	d := &c.discovery
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kinds == nil {
		return nil
	}
	for _, list := range [][]groupVersion{d.kinds.CoreVersions, d.kinds.GroupVersions} {
		for _, gv := range list {
			if gv.Group != group {
				continue
			}
			for i := range gv.Resources {
				if gv.Resources[i].Kind == kind {
					return &gv.Resources[i]
				}
			}
		}
	}
	return nil
}

// load reads the discovery cache into d, or asks the server if there is none.
func (c *Client) load(ctx context.Context) error {
	d := &c.discovery
	if !d.cacheRead {
		d.cacheRead = true
		d.set(c.readCache())
	}
	if d.kinds == nil {
		return c.refresh(ctx)
	}
	return nil
}

// InvalidateDiscovery makes the next [Client.Resolve] of a missing kind ask the server. Call it
// after CRDs have changed.
func (c *Client) InvalidateDiscovery() {
	c.discovery.mu.Lock()
	defer c.discovery.mu.Unlock()
	c.discovery.asked = time.Time{}
}

// currentKinds returns the kinds that the server serves now.
func (c *Client) currentKinds(ctx context.Context) (*kinds, error) {
	d := &c.discovery
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.cacheRead {
		d.cacheRead = true
		d.set(c.readCache())
	}
	if !d.isFresh() {
		if err := c.refresh(ctx); err != nil {
			return nil, err
		}
	}
	return d.kinds, nil
}

func (d *discovery) set(k *kinds) {
	d.kinds, d.index = k, map[string]*Resource{}
	if k == nil {
		return
	}
	for _, list := range [][]groupVersion{k.CoreVersions, k.GroupVersions} {
		for _, gv := range list {
			for i := range gv.Resources {
				r := &gv.Resources[i]
				r.APIVersion = gv.String()
				if key := r.APIVersion + " " + r.Kind; d.index[key] == nil {
					d.index[key] = r
				}
			}
		}
	}
}

// refresh revalidates d with the server.
func (c *Client) refresh(ctx context.Context) error {
	d := &c.discovery
	conn, err := c.connect()
	if err != nil {
		return err
	}
	next := kinds{Server: conn.base.String()}
	var old kinds
	if d.kinds != nil {
		old = *d.kinds
	}
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		next.Core, next.CoreVersions, err = c.fetchDiscovery(gctx, "/api", old.Core, old.CoreVersions)
		return err
	})
	group.Go(func() (err error) {
		next.Groups, next.GroupVersions, err = c.fetchDiscovery(gctx, "/apis", old.Groups, old.GroupVersions)
		return err
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("discover the cluster's kinds: %w", err)
	}
	d.asked = time.Now()
	if d.kinds != nil && next.Core == old.Core && next.Groups == old.Groups && next.Groups != "" {
		return nil
	}
	d.set(&next)
	c.writeCache(&next)
	return nil
}

// aggregated is the Accept header for aggregated discovery: all kinds of all groups in one
// response.
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

// fetchDiscovery fetches the versions under path unless they have the given tag, which is that
// of old. It returns the new tag and versions.
func (c *Client) fetchDiscovery(ctx context.Context, path, tag string,
	old []groupVersion) (string, []groupVersion, error) {
	header := http.Header{"Accept": {aggregated}}
	if tag != "" {
		header.Set("If-None-Match", tag)
	}
	resp, body, err := c.exchange(ctx, &request{method: http.MethodGet, path: path, header: header}, true)
	if err != nil {
		return "", nil, err
	}
	if resp.StatusCode == http.StatusNotModified {
		return tag, old, nil
	}
	var response struct {
		Kind string `json:"kind"`
		groupDiscovery
		groupList
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return "", nil, fmt.Errorf("read %s: %w", path, err)
	}
	if response.Kind != "APIGroupDiscoveryList" {
		// The server is older than 1.26 or has aggregated discovery disabled.
		versions, err := c.fetchGroupVersions(ctx, response.groupList)
		return "", versions, err
	}
	return resp.Header.Get("Etag"), response.groupVersions(), nil
}

type groupDiscovery struct {
	Items []struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Versions []struct {
			Version   string `json:"version"`
			Resources []struct {
				Resource     string       `json:"resource"`
				ResponseKind responseKind `json:"responseKind"`
				Scope        string       `json:"scope"`
				Subresources []struct {
					ResponseKind responseKind `json:"responseKind"`
				} `json:"subresources"`
			} `json:"resources"`
		} `json:"versions"`
	} `json:"items"`
}

type responseKind struct {
	Kind string `json:"kind"`
}

func (g groupDiscovery) groupVersions() []groupVersion {
	var out []groupVersion
	for _, item := range g.Items {
		for _, v := range item.Versions {
			gv := groupVersion{Group: item.Metadata.Name, Version: v.Version}
			for _, r := range v.Resources {
				if r.ResponseKind.Kind != "" {
					gv.Resources = append(gv.Resources,
						Resource{Kind: r.ResponseKind.Kind, Plural: r.Resource, Namespaced: r.Scope == "Namespaced"})
				}
				for _, s := range r.Subresources {
					gv.SubresourceKinds = append(gv.SubresourceKinds, s.ResponseKind.Kind)
				}
			}
			gv.dedupeSubresources()
			out = append(out, gv)
		}
	}
	return out
}

// dedupeSubresources removes from g.SubresourceKinds the kinds in Resources, and duplicates.
func (g *groupVersion) dedupeSubresources() {
	known := map[string]bool{"": true}
	for _, r := range g.Resources {
		known[r.Kind] = true
	}
	also := g.SubresourceKinds[:0]
	for _, k := range g.SubresourceKinds {
		if !known[k] {
			known[k] = true
			also = append(also, k)
		}
	}
	g.SubresourceKinds = also
}

// groupList is the response of unaggregated discovery: /api lists versions and /apis lists
// groups of versions; each of them takes a further request.
type groupList struct {
	Versions []string `json:"versions"`
	Groups   []struct {
		Name     string `json:"name"`
		Versions []struct {
			Version string `json:"version"`
		} `json:"versions"`
	} `json:"groups"`
}

func (c *Client) fetchGroupVersions(ctx context.Context, list groupList) ([]groupVersion, error) {
	var out []groupVersion
	for _, v := range list.Versions {
		out = append(out, groupVersion{Version: v})
	}
	for _, g := range list.Groups {
		for _, v := range g.Versions {
			out = append(out, groupVersion{Group: g.Name, Version: v.Version})
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(Parallel)
	for i := range out {
		group.Go(func() error { return c.fetchGroupVersion(ctx, &out[i]) })
	}
	return out, group.Wait()
}

func (c *Client) fetchGroupVersion(ctx context.Context, gv *groupVersion) error {
	prefix := "/apis/"
	if gv.Group == "" {
		prefix = "/api/"
	}
	body, err := c.WithoutRetry().Call(ctx, http.MethodGet, prefix+gv.String(), nil, nil, nil)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return nil // an aggregated API that is down hides its own kinds only
	}
	var list struct {
		Resources []struct {
			Name       string `json:"name"`
			Kind       string `json:"kind"`
			Namespaced bool   `json:"namespaced"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return fmt.Errorf("read %s: %w", prefix+gv.String(), err)
	}
	for _, r := range list.Resources {
		if strings.Contains(r.Name, "/") {
			gv.SubresourceKinds = append(gv.SubresourceKinds, r.Kind)
		} else {
			gv.Resources = append(gv.Resources, Resource{Kind: r.Kind, Plural: r.Name, Namespaced: r.Namespaced})
		}
	}
	gv.dedupeSubresources()
	return nil
}

// Name returns the name of the resource as it is in RBAC rules: "deployments.apps".
func (r *Resource) Name() string {
	if group := manifest.Group(r.APIVersion); group != "" {
		return r.Plural + "." + group
	}
	return r.Plural
}
