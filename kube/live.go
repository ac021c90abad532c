// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/release"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// meta is what the cluster says of an object without its contents.
type meta struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	UID         string            `json:"uid"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Deletion    string            `json:"deletionTimestamp"`
}

// few is up to how many objects of one place are read one by one; more are
// read with one list.
const few = 3

// place of several targets: one resource in one namespace.
type placeKey struct {
	res       *resource
	namespace string
}

func byPlace(targets []*target) map[placeKey][]*target {
	groups := map[placeKey][]*target{}
	for _, t := range targets {
		k := placeKey{t.res, t.namespace}
		groups[k] = append(groups[k], t)
	}
	return groups
}

// live reads the metadata of those targets that exist.
func (c *Client) live(ctx context.Context, targets []*target) (map[*target]*meta, error) {
	groups := byPlace(keep(targets, func(t *target) bool { return t.name != "" }))
	type answer struct {
		group []*target
		metas map[string]*meta
	}
	answers := make(chan answer, len(groups))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for place, members := range groups {
		group.Go(func() error {
			metas, err := c.liveAt(gctx, place, members)
			answers <- answer{members, metas}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	close(answers)
	out := make(map[*target]*meta, len(targets))
	for a := range answers {
		for _, t := range a.group {
			if m := a.metas[t.name]; m != nil {
				out[t] = m
			}
		}
	}
	return out, nil
}

var errTooMany = errors.New("more objects than are worth a list")

// liveAt reads the metadata of the members of one place, with one list where
// they are many and the permission to list is there.
func (c *Client) liveAt(ctx context.Context, place placeKey, members []*target) (map[string]*meta, error) {
	if len(members) > few {
		metas, err := c.listMeta(ctx, place, len(members))
		var forbidden *ForbiddenError
		switch {
		case err == nil:
			return metas, nil
		case !errors.As(err, &forbidden) && !errors.Is(err, errTooMany) && !apierrors.IsMethodNotSupported(err):
			return nil, fmt.Errorf("list %s: %w", place.res.Plural, err)
		}
	}
	metas := make([]*meta, len(members))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, t := range members {
		group.Go(func() (err error) {
			metas[i], err = c.getMeta(ctx, t)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	out := map[string]*meta{}
	for _, m := range metas {
		if m != nil {
			out[m.Name] = m
		}
	}
	return out, nil
}

const (
	acceptMeta = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	acceptList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
	listPage   = 500
)

// getMeta returns nil for an object that is not there.
func (c *Client) getMeta(ctx context.Context, t *target) (*meta, error) {
	body, err := c.Call(ctx, http.MethodGet, t.path(), nil, http.Header{"Accept": {acceptMeta}}, nil)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, t.fail("read", err)
	}
	var o struct {
		Metadata meta `json:"metadata"`
	}
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, t.fail("read", err)
	}
	return &o.Metadata, nil
}

// listMeta lists a place, but gives up where it holds so much more than is
// wanted that single reads are cheaper.
func (c *Client) listMeta(ctx context.Context, place placeKey, wanted int) (map[string]*meta, error) {
	out := map[string]*meta{}
	query := url.Values{"limit": {strconv.Itoa(listPage)}}
	for {
		body, err := c.Call(ctx, http.MethodGet, place.res.path(place.namespace, ""), query, http.Header{"Accept": {acceptList}}, nil)
		if err != nil {
			return nil, err
		}
		var list struct {
			Metadata struct {
				Continue           string `json:"continue"`
				RemainingItemCount int    `json:"remainingItemCount"`
			} `json:"metadata"`
			Items []struct {
				Metadata meta `json:"metadata"`
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
			return nil, errTooMany
		}
		query.Set("continue", list.Metadata.Continue)
	}
}

// foreign says why an object is not owner's, "" where it is.
func (m *meta) foreign(owner Owner) string {
	release, namespace := m.Annotations[annotationRelease], m.Annotations[annotationNamespace]
	switch {
	case m.Labels[labelManagedBy] == managedBy && release == owner.Release && namespace == owner.Namespace:
		return ""
	case m.others(owner) && release != "":
		return fmt.Sprintf("it belongs to release %q in namespace %q", release, namespace)
	case release == "" && m.Labels[labelManagedBy] == "":
		return "it was not made by Helm"
	case m.Labels[labelManagedBy] != managedBy:
		return fmt.Sprintf("its label %s is %q, must be %q", labelManagedBy, m.Labels[labelManagedBy], managedBy)
	}
	return fmt.Sprintf("its annotations %s and %s are %q and %q, must be %q and %q",
		annotationRelease, annotationNamespace, release, namespace, owner.Release, owner.Namespace)
}

// madeByHook reports whether the object bears the mark of a hook of owner, and no
// ownership labels.
func (m *meta) madeByHook(owner Owner) bool {
	return m.Annotations[annotationRelease] == "" && m.Annotations[annotationNamespace] == "" &&
		strings.HasPrefix(m.Annotations[release.HookOfAnnotation], owner.Namespace+"/"+owner.Release+"/")
}

// others reports whether an object carries another release's marks.
func (m *meta) others(owner Owner) bool {
	release, namespace := m.Annotations[annotationRelease], m.Annotations[annotationNamespace]
	return release != "" && release != owner.Release || namespace != "" && namespace != owner.Namespace
}

// one is the query that selects a single object in a list or watch.
func one(name string) url.Values { return url.Values{"fieldSelector": {"metadata.name=" + name}} }

// decode reads an object of a list, which does not say its kind. Numbers are
// int64 or float64.
func (p placeKey) decode(raw []byte) (map[string]any, error) {
	var object map[string]any
	if err := k8sjson.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, errors.New("the server's answer is null, not an object")
	}
	object["apiVersion"], object["kind"] = p.res.apiVersion, p.res.Kind
	return object, nil
}
