// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sort"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/manifest"
)

// Row is one object as the cluster has it, with the columns that the API server
// prints it in.
type Row struct {
	APIVersion, Kind, Name string
	// Live is the whole object, nil where the cluster does not have it; then
	// Columns and Cells are empty too.
	Live           map[string]any
	Columns, Cells []string
	// Related marks a pod that belongs to one of the objects asked for.
	Related bool
}

// acceptTable asks for the server's own printing of objects.
const acceptTable = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"

// table is the part of meta.k8s.io/v1 Table that is read.
type table struct {
	Columns []struct {
		Name     string `json:"name"`
		Priority int    `json:"priority"`
	} `json:"columnDefinitions"`
	Rows []struct {
		Cells  []any          `json:"cells"`
		Object map[string]any `json:"object"`
	} `json:"rows"`
}

// Rows reads objects as they are now, in the order given, and after them the
// pods of those that select pods. Objects whose kind the cluster does not serve
// any more count as not there.
func (c *Client) Rows(ctx context.Context, objects []*manifest.Object, namespace string) ([]Row, error) {
	targets, err := c.targets(ctx, objects, namespace)
	var noKind *NoKindError
	if err != nil && !errors.As(err, &noKind) {
		return nil, err
	}
	rows := make([]Row, len(targets))
	pods := make([][]Row, len(targets))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, t := range targets {
		group.Go(func() (err error) {
			if rows[i], err = c.row(gctx, t); err != nil || rows[i].Live == nil {
				return err
			}
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
			rows = append(rows, Row{Kind: kind, Name: name})
		}
	}
	return append(rows, distinct(pods)...), nil
}

// distinct joins lists of pods, each pod once, by name.
func distinct(lists [][]Row) []Row {
	seen := map[string]bool{}
	var out []Row
	for _, list := range lists {
		for _, r := range list {
			if !seen[r.Name] {
				seen[r.Name] = true
				out = append(out, r)
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

func (c *Client) row(ctx context.Context, t *target) (Row, error) {
	r := Row{APIVersion: t.res.apiVersion, Kind: t.kind, Name: t.name}
	tab, err := c.table(ctx, t.path(), url.Values{})
	if apierrors.IsNotFound(err) {
		return r, nil
	}
	if err != nil {
		return r, t.fail("read", err)
	}
	if len(tab.Rows) > 0 {
		r.Live = tab.Rows[0].Object
		r.Columns, r.Cells = tab.cells(0)
	}
	return r, nil
}

// podsOf lists the pods that a workload selects.
func (c *Client) podsOf(ctx context.Context, t *target) ([]Row, error) {
	selector := podSelector(t.kind, t.object)
	if selector == "" {
		return nil, nil
	}
	pods := &resource{Kind: "Pod", Plural: "pods", Namespaced: true, apiVersion: "v1"}
	tab, err := c.table(ctx, pods.path(t.namespace, ""), url.Values{"labelSelector": {selector}})
	var forbidden *ForbiddenError
	if errors.As(err, &forbidden) {
		return nil, nil // pods are an extra; the objects themselves were read
	}
	if err != nil {
		return nil, t.fail("list the pods of", err)
	}
	out := make([]Row, len(tab.Rows))
	for i, row := range tab.Rows {
		meta, _ := row.Object["metadata"].(map[string]any)
		name, _ := meta["name"].(string)
		out[i] = Row{APIVersion: "v1", Kind: "Pod", Name: name, Live: row.Object, Related: true}
		out[i].Columns, out[i].Cells = tab.cells(i)
	}
	return out, nil
}

// podSelector is the label selector of the pods that a workload makes, as its
// manifest says it, "" for kinds that make none. A Job's manifest has none, so
// its pods are not shown, as Helm does not show them.
func podSelector(kind string, object map[string]any) string {
	spec, _ := object["spec"].(map[string]any)
	selector, _ := spec["selector"].(map[string]any)
	labels, _ := selector["matchLabels"].(map[string]any)
	switch kind {
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job":
	case "ReplicationController":
		labels = selector
	default:
		return ""
	}
	var parts []string
	for k, v := range labels {
		parts = append(parts, fmt.Sprintf("%s=%v", k, v))
	}
	sort.Strings(parts)
	return strings.Join(parts, ",")
}

func (c *Client) table(ctx context.Context, path string, query url.Values) (*table, error) {
	query.Set("includeObject", "Object")
	body, err := c.Call(ctx, http.MethodGet, path, query, http.Header{"Accept": {acceptTable}}, nil)
	if err != nil {
		return nil, err
	}
	var tab table
	if err := json.Unmarshal(body, &tab); err != nil {
		return nil, fmt.Errorf("read the server's table: %w", err)
	}
	return &tab, nil
}

// cells are the columns that a narrow table shows, and what row i has in them.
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
