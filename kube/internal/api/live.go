// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/release"
)

// Metadata is the part of an object's metadata that this package uses.
type Metadata struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	UID       string `json:"uid"`
	// ResourceVersion is set by [Client.Metadata] only.
	ResourceVersion string            `json:"resourceVersion"`
	Labels          map[string]string `json:"labels"`
	Annotations     map[string]string `json:"annotations"`
	Deletion        string            `json:"deletionTimestamp"`
	Finalizers      []string          `json:"finalizers"`
}

// Few is the maximum number of objects of one collection that are read with a request each;
// more are read with a list.
const Few = 3

// Collection is a collection in the API: a resource in one namespace.
type Collection struct {
	Resource  *kube.Resource
	Namespace string
}

// ByCollection groups targets by collection.
func ByCollection(targets []*Target) map[Collection][]*Target {
	groups := map[Collection][]*Target{}
	for _, t := range targets {
		k := Collection{t.Resource, t.Namespace}
		groups[k] = append(groups[k], t)
	}
	return groups
}

// ReadMetadata returns the metadata of the targets that exist.
func (c Client) ReadMetadata(ctx context.Context, targets []*Target) (map[*Target]*Metadata, error) {
	groups := ByCollection(Filter(targets, func(t *Target) bool { return t.Name != "" }))
	type response struct {
		group []*Target
		metas map[string]*Metadata
	}
	responses := make(chan response, len(groups))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(kube.Parallel)
	for place, members := range groups {
		group.Go(func() error {
			metas, err := c.readCollection(gctx, place, members)
			responses <- response{members, metas}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	close(responses)
	out := make(map[*Target]*Metadata, len(targets))
	for a := range responses {
		for _, t := range a.group {
			if m := a.metas[t.Name]; m != nil {
				out[t] = m
			}
		}
	}
	return out, nil
}

var errLargeList = errors.New("more objects than are worth a list")

// readCollection returns the metadata of members by name. It reads many members with one list
// if the user has the permission to list.
func (c Client) readCollection(ctx context.Context, place Collection, members []*Target) (map[string]*Metadata, error) {
	if len(members) > Few {
		metas, err := c.listMetadata(ctx, place, len(members))
		var forbidden *kube.ForbiddenError
		switch {
		case err == nil:
			return metas, nil
		case !errors.As(err, &forbidden) && !errors.Is(err, errLargeList) && !apierrors.IsMethodNotSupported(err):
			return nil, fmt.Errorf("list %s: %w", place.Resource.Plural, err)
		}
	}
	metas := make([]*Metadata, len(members))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(kube.Parallel)
	for i, t := range members {
		group.Go(func() (err error) {
			metas[i], err = c.Metadata(ctx, t)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	out := map[string]*Metadata{}
	for _, m := range metas {
		if m != nil {
			out[m.Name] = m
		}
	}
	return out, nil
}

// The Accept headers for the metadata of an object and of a list, and the page size of lists.
const (
	AcceptMeta     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	AcceptMetaList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
	ListPage       = 500
)

// Metadata returns the metadata of an object, or nil if it does not exist.
func (c Client) Metadata(ctx context.Context, t *Target) (*Metadata, error) {
	body, err := c.Call(ctx, http.MethodGet, t.Path(), nil, http.Header{"Accept": {AcceptMeta}}, nil)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, t.Fail("read", err)
	}
	var o struct {
		Metadata Metadata `json:"metadata"`
	}
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, t.Fail("read", err)
	}
	return &o.Metadata, nil
}

// listMetadata lists a collection. It returns errLargeList if the collection is so much larger
// than wanted that single reads are cheaper.
func (c Client) listMetadata(ctx context.Context, place Collection, wanted int) (map[string]*Metadata, error) {
	out := map[string]*Metadata{}
	query := url.Values{"limit": {strconv.Itoa(ListPage)}}
	for {
		body, err := c.Call(ctx, http.MethodGet, place.Resource.Path(place.Namespace, ""), query,
			http.Header{"Accept": {AcceptMetaList}}, nil)
		if err != nil {
			return nil, err
		}
		var list struct {
			Metadata struct {
				Continue           string `json:"continue"`
				RemainingItemCount int    `json:"remainingItemCount"`
			} `json:"metadata"`
			Items []struct {
				Metadata Metadata `json:"metadata"`
			} `json:"items"`
		}
		if err := json.Unmarshal(body, &list); err != nil {
			return nil, err
		}
		for i := range list.Items {
			out[list.Items[i].Metadata.Name] = &list.Items[i].Metadata
		}
		if list.Metadata.Continue == "" {
			return out, nil
		}
		if list.Metadata.RemainingItemCount > 20*wanted {
			return nil, errLargeList
		}
		query.Set("continue", list.Metadata.Continue)
	}
}

// Ownership returns the metadata that says which release the object belongs to.
func (m *Metadata) Ownership() release.Ownership { return release.OwnershipOf(m.Labels, m.Annotations) }

// Foreign returns the reason why an object does not belong to owner, or "" if it does.
func (m *Metadata) Foreign(owner kube.Owner) string {
	is, want := m.Ownership(), release.OwnedBy(owner.Release, owner.Namespace)
	switch {
	case is == want:
		return ""
	case m.HasOtherOwner(owner) && is.Release != "":
		return fmt.Sprintf("it belongs to release %q in namespace %q", is.Release, is.Namespace)
	case is.Release == "" && is.ManagedBy == "":
		return "it was not made by Helm"
	case is.ManagedBy != want.ManagedBy:
		return fmt.Sprintf("its label %s is %q, must be %q", release.ManagedByLabel, is.ManagedBy, want.ManagedBy)
	}
	return fmt.Sprintf("its annotations %s and %s are %q and %q, must be %q and %q", release.NameAnnotation,
		release.NamespaceAnnotation, is.Release, is.Namespace, want.Release, want.Namespace)
}

// IsFromHook reports whether the object has the annotation of a hook of owner, and no ownership
// labels.
func (m *Metadata) IsFromHook(owner kube.Owner) bool {
	is := m.Ownership()
	return is.Release == "" && is.Namespace == "" &&
		strings.HasPrefix(m.Annotations[release.HookOfAnnotation], owner.Namespace+"/"+owner.Release+"/")
}

// HasOtherOwner reports whether an object has another release's ownership annotations.
func (m *Metadata) HasOtherOwner(owner kube.Owner) bool {
	is := m.Ownership()
	return is.Release != "" && is.Release != owner.Release || is.Namespace != "" && is.Namespace != owner.Namespace
}

// ByName returns the query that selects a single object in a list or watch.
func ByName(name string) url.Values { return url.Values{"fieldSelector": {"metadata.name=" + name}} }

// Decode decodes an item of a list, and sets its API version and kind, which the server omits.
// Numbers are int64 or float64.
func (p Collection) Decode(raw []byte) (map[string]any, error) {
	var object map[string]any
	if err := k8sjson.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, errors.New("the server's answer is null, not an object")
	}
	object["apiVersion"], object["kind"] = p.Resource.APIVersion, p.Resource.Kind
	return object, nil
}
