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
)

// discovery is what is known of the kinds that a cluster serves. It is asked
// for once, revalidated when a kind is missing, and kept on disk between runs:
// an answer carries a tag, and a server that has nothing new says so in a few
// bytes.
type discovery struct {
	mu     sync.Mutex
	loaded bool      // the disk was looked at
	asked  time.Time // when the server said last what it serves
	kinds  *kinds
	index  map[string]*Resource // by groupVersion and kind
}

// freshness is how long an answer of the server is not asked for again: as long as a
// short command takes. A program that keeps a client learns of kinds that others define.
const freshness = 10 * time.Second

func (d *discovery) fresh() bool { return time.Since(d.asked) < freshness }

// kinds is the cached part, in the form that the file has.
type kinds struct {
	Server string `json:"server"`
	// Core and Groups are the tags of the two answers.
	Core   string `json:"core"`
	Groups string `json:"groups"`
	// CoreVersions and GroupVersions are the answers.
	CoreVersions  []groupVersion `json:"coreVersions"`
	GroupVersions []groupVersion `json:"groupVersions"`
}

type groupVersion struct {
	Group     string     `json:"group,omitempty"`
	Version   string     `json:"version"`
	Resources []Resource `json:"resources"`
	// Also are kinds of subresources, which templates see in capabilities.
	Also []string `json:"also,omitempty"`
}

func (g groupVersion) String() string {
	if g.Group == "" {
		return g.Version
	}
	return g.Group + "/" + g.Version
}

// Resource is where objects of one kind live.
type Resource struct {
	Kind       string `json:"kind"`
	Plural     string `json:"plural"`
	Namespaced bool   `json:"namespaced,omitempty"`

	// APIVersion is "version" or "group/version".
	APIVersion string `json:"-"`
}

// Path is the API path of one object, or of all where name is empty; of the
// whole cluster where namespace is empty.
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

// Resolve finds the resource of each kind asked for. Where one is missing the
// server is asked before it is believed to be missing; what is missing still is
// nil in the answer.
func (c *Client) Resolve(ctx context.Context, wanted []Kind) (map[Kind]*Resource, error) {
	d := &c.discovery
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := c.load(ctx); err != nil {
		return nil, err
	}
	found, complete := d.lookup(wanted)
	if !complete && !d.fresh() {
		if err := c.refresh(ctx); err != nil {
			return nil, err
		}
		found, _ = d.lookup(wanted)
	}
	return found, nil
}

// Kind is what an object says of its kind.
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

// Preferred is the kind in the version of a group that the server prefers, as far as it is
// known: it asks no one. It returns nil where there is none.
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

// load fills d from the disk, or from the server where the disk has nothing.
func (c *Client) load(ctx context.Context) error {
	d := &c.discovery
	if !d.loaded {
		d.loaded = true
		d.set(c.readCache())
	}
	if d.kinds == nil {
		return c.refresh(ctx)
	}
	return nil
}

// ForgetKinds makes the next question ask the server: kinds have just changed.
func (c *Client) ForgetKinds() {
	c.discovery.mu.Lock()
	defer c.discovery.mu.Unlock()
	c.discovery.asked = time.Time{}
}

// current returns the kinds as the server has them now.
func (c *Client) current(ctx context.Context) (*kinds, error) {
	d := &c.discovery
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.loaded {
		d.loaded = true
		d.set(c.readCache())
	}
	if !d.fresh() {
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

// refresh asks the server for what has changed since the tags in d.
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
		next.Core, next.CoreVersions, err = c.ask(gctx, "/api", old.Core, old.CoreVersions)
		return err
	})
	group.Go(func() (err error) {
		next.Groups, next.GroupVersions, err = c.ask(gctx, "/apis", old.Groups, old.GroupVersions)
		return err
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("ask the cluster for its kinds: %w", err)
	}
	d.asked = time.Now()
	if d.kinds != nil && next.Core == old.Core && next.Groups == old.Groups && next.Groups != "" {
		return nil
	}
	d.set(&next)
	c.writeCache(&next)
	return nil
}

// aggregated asks for all kinds of all groups in one answer.
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

func (c *Client) ask(ctx context.Context, path, tag string, old []groupVersion) (string, []groupVersion, error) {
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
	var answer struct {
		Kind string `json:"kind"`
		groupDiscovery
		groupList
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", nil, fmt.Errorf("read %s: %w", path, err)
	}
	if answer.Kind != "APIGroupDiscoveryList" {
		// A server from before 1.26, or one that has it switched off.
		versions, err := c.askEach(ctx, answer.groupList)
		return "", versions, err
	}
	return resp.Header.Get("Etag"), answer.groupVersions(), nil
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
					gv.Also = append(gv.Also, s.ResponseKind.Kind)
				}
			}
			gv.dropKnown()
			out = append(out, gv)
		}
	}
	return out
}

// dropKnown leaves in Also only what Resources do not say, each once.
func (g *groupVersion) dropKnown() {
	known := map[string]bool{"": true}
	for _, r := range g.Resources {
		known[r.Kind] = true
	}
	also := g.Also[:0]
	for _, k := range g.Also {
		if !known[k] {
			known[k] = true
			also = append(also, k)
		}
	}
	g.Also = also
}

// groupList is the older form: /api lists versions, /apis groups of versions,
// and each has to be asked.
type groupList struct {
	Versions []string `json:"versions"`
	Groups   []struct {
		Name     string `json:"name"`
		Versions []struct {
			Version string `json:"version"`
		} `json:"versions"`
	} `json:"groups"`
}

func (c *Client) askEach(ctx context.Context, list groupList) ([]groupVersion, error) {
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
		group.Go(func() error { return c.askOne(ctx, &out[i]) })
	}
	return out, group.Wait()
}

func (c *Client) askOne(ctx context.Context, gv *groupVersion) error {
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
			gv.Also = append(gv.Also, r.Kind)
		} else {
			gv.Resources = append(gv.Resources, Resource{Kind: r.Kind, Plural: r.Name, Namespaced: r.Namespaced})
		}
	}
	gv.dropKnown()
	return nil
}

// GroupOf is the API group of an apiVersion, "" for the core's.
func GroupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// Name is how rules call the resource: "deployments.apps".
func (r *Resource) Name() string {
	if group := GroupOf(r.APIVersion); group != "" {
		return r.Plural + "." + group
	}
	return r.Plural
}
