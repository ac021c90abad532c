// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
)

// LiveObject is the live state of an object, with the columns of the server's table format.
type LiveObject struct {
	APIVersion, Kind, Name string
	// Live is the whole object, or nil if it does not exist; Columns and Cells are then empty
	// too.
	Live           map[string]any
	Columns, Cells []string
	// Related is set for a pod of one of the requested objects.
	Related bool
}

// Section returns the heading under which the object is listed: "v1/Deployment",
// "v1/Pod(related)".
func (o LiveObject) Section() string {
	version := o.APIVersion
	if i := strings.LastIndexByte(version, '/'); i >= 0 {
		version = version[i+1:]
	}
	section := version + "/" + o.Kind
	if o.Related {
		section += "(related)"
	}
	return section
}

// acceptTable is the Accept header for the server's table format.
const acceptTable = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"

// table is the part of meta.k8s.io/v1 Table that is used.
type table struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Columns []struct {
		Name     string `json:"name"`
		Priority int    `json:"priority"`
	} `json:"columnDefinitions"`
	Rows []struct {
		Cells  []any          `json:"cells"`
		Object map[string]any `json:"object"`
	} `json:"rows"`
}

// Live returns the live state of objects in the given order, followed by the pods of those that
// select pods. Objects whose kind the cluster no longer serves count as nonexistent.
func (c *Reader) Live(ctx context.Context, objects []*manifest.Object, namespace string) ([]LiveObject, error) {
	targets, err := c.api.Targets(ctx, objects, namespace)
	var noKind *kube.NoMatchError
	if err != nil && !errors.As(err, &noKind) {
		return nil, err
	}
	rows := make([]LiveObject, len(targets))
	pods := make([][]LiveObject, len(targets))
	index := make(map[*api.Target]int, len(targets))
	for i, t := range targets {
		index[t] = i
		rows[i] = LiveObject{APIVersion: t.Resource.APIVersion, Kind: t.Kind, Name: t.Name}
	}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(kube.Parallel)
	for place, members := range api.ByCollection(targets) {
		group.Go(func() error {
			return c.readRows(gctx, place, members, func(t *api.Target, r LiveObject) { rows[index[t]] = r })
		})
	}
	for i, t := range targets {
		group.Go(func() (err error) {
			pods[i], err = c.podsOf(gctx, t)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if noKind != nil {
		for _, name := range noKind.Objects {
			kind, name, _ := strings.Cut(name, "/")
			rows = append(rows, LiveObject{Kind: kind, Name: name})
		}
	}
	return append(rows, distinct(pods)...), nil
}

// distinct merges lists of pods, without duplicate names.
func distinct(lists [][]LiveObject) []LiveObject {
	seen := map[string]bool{}
	var out []LiveObject
	for _, list := range lists {
		for _, r := range list {
			if !seen[r.Name] {
				seen[r.Name] = true
				out = append(out, r)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b LiveObject) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// readRows calls found for each of the members that exists. It reads many members with one list
// if the user has the permission to list.
func (c *Reader) readRows(ctx context.Context, place api.Collection, members []*api.Target,
	found func(*api.Target, LiveObject)) error {
	if len(members) > api.Few {
		byName := make(map[string]*api.Target, len(members))
		for _, t := range members {
			byName[t.Name] = t
		}
		err := c.table(ctx, place, "", nil, func(r LiveObject) {
			if t := byName[r.Name]; t != nil {
				found(t, r)
			}
		})
		if _, ok := errors.AsType[*kube.ForbiddenError](err); !ok {
			return err
		}
	}
	for _, t := range members {
		err := c.table(ctx, place, t.Name, nil, func(r LiveObject) { found(t, r) })
		if err != nil && !apierrors.IsNotFound(err) {
			return t.Fail("read", err)
		}
	}
	return nil
}

// podsOf returns the pods that a workload selects.
func (c *Reader) podsOf(ctx context.Context, t *api.Target) ([]LiveObject, error) {
	selector := api.PodSelector(t.Kind, t.Object)
	if selector == "" {
		return nil, nil
	}
	place := api.PodCollection(t.Namespace)
	var out []LiveObject
	err := c.table(ctx, place, "", url.Values{"labelSelector": {selector}}, func(r LiveObject) {
		r.Related = true
		out = append(out, r)
	})
	if _, ok := errors.AsType[*kube.ForbiddenError](err); ok {
		return nil, nil // pods are optional
	}
	return out, t.Fail("list the pods of", err)
}

// table calls fn for the object of the given name, or for all objects of a collection if name
// is empty.
func (c *Reader) table(ctx context.Context, place api.Collection, name string, query url.Values,
	fn func(LiveObject)) error {
	q := url.Values{"includeObject": {"Object"}}
	maps.Copy(q, query)
	if name == "" {
		q.Set("limit", strconv.Itoa(api.ListPage))
	}
	for {
		body, err := c.api.Call(ctx, http.MethodGet, place.Resource.Path(place.Namespace, name), q,
			http.Header{"Accept": {acceptTable}}, nil)
		if err != nil {
			return err
		}
		var tab table
		if err := k8sjson.Unmarshal(body, &tab); err != nil {
			return fmt.Errorf("read the server's table: %w", err)
		}
		for i := range tab.Rows {
			fn(tab.row(place, i))
		}
		if tab.Metadata.Continue == "" {
			return nil
		}
		q.Set("continue", tab.Metadata.Continue)
	}
}

func (t *table) row(place api.Collection, i int) LiveObject {
	r := LiveObject{APIVersion: place.Resource.APIVersion, Kind: place.Resource.Kind, Live: t.Rows[i].Object}
	meta, _ := r.Live["metadata"].(map[string]any)
	r.Name, _ = meta["name"].(string)
	r.Columns, r.Cells = t.cells(i)
	return r
}

// cells returns the columns with priority 0, which a table shows by default, and the cells of
// row i in them.
func (t *table) cells(i int) (columns, cells []string) {
	for j, c := range t.Columns {
		if c.Priority != 0 || j >= len(t.Rows[i].Cells) {
			continue
		}
		columns = append(columns, strings.ToUpper(c.Name))
		cell := "<none>"
		if v := t.Rows[i].Cells[j]; v != nil {
			cell = fmt.Sprint(v)
		}
		cells = append(cells, cell)
	}
	return columns, cells
}
