// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
)

const applyPatch = "application/apply-patch+yaml"

// applyServerSide applies the new object with server-side apply. Before, it moves the fields
// that client-side releases have set to the manager of the apply, so that the server removes
// those that the chart has dropped.
//
// If the server reports conflicts that the plan does not contain, or the object has changed, it
// recomputes the step and tries again.
func (c *Applier) applyServerSide(ctx context.Context, j *job) error {
	if err := c.moveFields(ctx, j.Target, j.Item, j.Displaced); err != nil {
		return j.Fail("move the fields of", err)
	}
	for tries := 1; ; tries++ {
		body, err := j.body()
		if err != nil {
			return err
		}
		answer, err := c.api.Call(ctx, http.MethodPatch, j.Path(), j.applyQuery(c), metadataOnly(applyPatch), body)
		if err == nil {
			c.reportApplied(j, answer)
			return nil
		}
		refused := newApplyConflicts(j.Target, err, noManager)
		if refused == nil && !apierrors.IsConflict(err) || tries == maxMoveRetries {
			return err
		}
		if err := c.recomputeApply(ctx, j, refused); err != nil || j.Action == plan.Unchanged {
			return err
		}
	}
}

func noManager(string) bool { return false }

// applyQuery returns the query parameters of an apply. If conflicts are unresolved, it does not
// force the apply, so that the server reports them.
func (j *job) applyQuery(c *Applier) url.Values {
	query := c.writeQuery()
	query.Set("force", strconv.FormatBool((j.Force || j.plan.Conflicts == plan.Take) && !hasUnresolved(j.Step)))
	return query
}

func (c *Applier) reportApplied(j *job, answer []byte) {
	switch {
	case j.Live == nil:
		c.api.Progress().Send(progress.Event{Kind: progress.Created, Object: j.Short()})
	case isChanged(j.Live, answer):
		c.api.Progress().Send(progress.Event{Kind: progress.Updated, Object: j.Short()})
	}
}

// recomputeApply reads the object again and recomputes the step of j, with the conflicts that
// the server has reported.
func (c *Applier) recomputeApply(ctx context.Context, j *job, refused *applyConflicts) error {
	live, err := c.readManaged(ctx, j.Target)
	if err != nil {
		return err
	}
	if api.String(live, "metadata", "uid") != api.String(j.Live, "metadata", "uid") && live != nil {
		if err := j.checkOwner(live); err != nil {
			return err
		}
	}
	known := j.Conflicts
	if j.rejectedFields == nil {
		j.rejectedFields = map[string]bool{}
	}
	if refused != nil {
		maps.Copy(j.rejectedFields, refused.fields)
	}
	next, err := j.computeStep(live, false)
	if err != nil {
		return err
	}
	created := j.Live == nil && j.plan.Exact // what is there, not who manages which field, is the news
	if err := refused.err(j.Target, next); err != nil && !created {
		return err
	}
	if err := j.become(next); err != nil {
		return err
	}
	c.warnConflicts(j, known)
	return nil
}

// warnConflicts warns about the conflicts of j that are not in known.
func (c *Applier) warnConflicts(j *job, known []plan.Conflict) {
	for _, f := range j.Conflicts {
		if !slices.ContainsFunc(known, func(k plan.Conflict) bool { return k.Path == f.Path }) {
			c.api.Progress().Send(progress.Event{Kind: progress.Warning, Text: j.Short() + ": " + f.Sentence() + ": " +
				f.Outcome()})
		}
	}
}

// readManaged reads an object with its managedFields, see completeManagers.
func (c *Applier) readManaged(ctx context.Context, t *api.Target) (map[string]any, error) {
	live, err := c.api.Read(ctx, t, true)
	if err != nil || live == nil {
		return live, err
	}
	c.completeManagers(ctx, t, live)
	return live, nil
}

// completeManagers sets the managedFields of an object that has none, for example after a
// restore from a backup, to those that the server creates at the first apply: all fields, with
// the manager "before-first-apply". Otherwise the apply would conflict with that manager, and
// leave it the fields that the chart has dropped.
//
// It asks the server with a dry run, because only the server has the schemas of all kinds. If
// that fails, it leaves the object unchanged.
func (c *Applier) completeManagers(ctx context.Context, t *api.Target, live map[string]any) {
	metadata, _ := live["metadata"].(map[string]any)
	if managers, _ := metadata["managedFields"].([]any); len(managers) > 0 || metadata == nil {
		return
	}
	name := map[string]any{"apiVersion": live["apiVersion"], "kind": live["kind"],
		"metadata": map[string]any{"name": t.Name}}
	body, err := json.Marshal(name)
	if err != nil {
		return
	}
	query := c.writeQuery()
	query.Set("dryRun", "All")
	query.Set("force", "true")
	answer, err := c.api.Call(ctx, http.MethodPatch, t.Path(), query, metadataOnly(applyPatch), body)
	if err != nil {
		return
	}
	now, err := api.DecodeObject(answer, true)
	if err != nil || api.String(now, "metadata", "uid") != api.String(live, "metadata", "uid") {
		return
	}
	if after, _ := now["metadata"].(map[string]any); after["managedFields"] != nil {
		metadata["managedFields"] = after["managedFields"]
	}
}

// maxMoveRetries is the maximum number of retries when another client changes the object.
const maxMoveRetries = 5

// moveFields makes the manager of the apply own the fields of client-side releases, the fields
// of managers that the release takes over, and displaced fields.
func (c *Applier) moveFields(ctx context.Context, t *api.Target, it plan.Item, displaced []plan.DisplacedField) error {
	if it.Live == nil || c.api.IsDryRun() {
		return nil
	}
	for tries := 0; ; tries++ {
		entries, err := movedFields(it, displaced)
		if err != nil || entries == nil {
			return err
		}
		// Replacing the resource version, unlike testing it, makes the server answer
		// 409 if it has changed. "add" also works if there are no managedFields.
		body, err := json.Marshal([]map[string]any{
			{"op": "add", "path": "/metadata/managedFields", "value": entries},
			{"op": "replace", "path": "/metadata/resourceVersion", "value": api.String(it.Live, "metadata", "resourceVersion")},
		})
		if err != nil {
			return err
		}
		_, err = c.api.Call(ctx, http.MethodPatch, t.Path(), c.writeQuery(),
			metadataOnly("application/json-patch+json"), body)
		if apierrors.IsNotFound(err) {
			return nil // applying creates it
		}
		if !apierrors.IsConflict(err) || tries == maxMoveRetries {
			return err
		}
		if it.Live, err = c.readManaged(ctx, t); it.Live == nil {
			return err
		}
	}
}

// movedFields returns an object's managedFields after moveFields, or nil if there is nothing to
// move. The server removes those of the moved fields that the next apply does not contain.
func movedFields(it plan.Item, displaced []plan.DisplacedField) ([]any, error) {
	metadata, _ := it.Live["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	var out []any
	var applied map[string]any // the manager's entry
	all, err := pathSet(displaced)
	if err != nil {
		return nil, err
	}
	removed := all
	moved := all != nil
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		owned, rest, of := ownedBy(it, entry)
		if of == otherOwner {
			if entry, err = removePaths(it, entry, removed); err != nil {
				return nil, err
			}
			if entry != nil {
				out = append(out, entry)
			}
			continue
		}
		if len(rest) > 0 {
			left := maps.Clone(entry)
			left["fieldsV1"] = rest
			if left, err = removePaths(it, left, removed); err != nil {
				return nil, err
			}
			if left != nil {
				out = append(out, left)
			}
		}
		moved = moved || of == formerOwner
		fields, err := fieldSet(owned)
		if err != nil {
			return nil, err
		}
		if all = union(all, fields); applied == nil {
			applied = map[string]any{
				"manager": kube.FieldManager, "operation": "Apply", "apiVersion": entry["apiVersion"], "fieldsType": "FieldsV1",
				"time": entry["time"],
			}
			out = append(out, applied)
		}
	}
	if !moved {
		return nil, nil
	}
	if applied == nil { // only displaced fields are moved
		applied = map[string]any{"manager": kube.FieldManager, "operation": "Apply", "apiVersion": it.New["apiVersion"],
			"fieldsType": "FieldsV1"}
		out = append(out, applied)
	}
	text, err := all.ToJSON()
	if err != nil {
		return nil, err
	}
	applied["fieldsV1"] = json.RawMessage(text)
	return out, nil
}

// pathSet returns the set of displaced fields, or nil if there are none.
func pathSet(displaced []plan.DisplacedField) (*fieldpath.Set, error) {
	var all *fieldpath.Set
	for _, d := range displaced {
		fields := map[string]any{}
		for _, key := range slices.Backward(d.Path) {
			fields = map[string]any{key: fields}
		}
		one, err := fieldSet(fields)
		if err != nil {
			return nil, err
		}
		all = union(all, one)
	}
	return all, nil
}

// removePaths returns an entry of managedFields without the fields in removed and the fields below
// them, or nil if no field remains.
func removePaths(it plan.Item, entry map[string]any, removed *fieldpath.Set) (map[string]any, error) {
	if removed == nil || entry["subresource"] != nil || entry["apiVersion"] != it.New["apiVersion"] {
		return entry, nil
	}
	owned, _ := entry["fieldsV1"].(map[string]any)
	before, err := fieldSet(owned)
	if err != nil {
		return nil, err
	}
	after := before.RecursiveDifference(removed)
	switch {
	case after.Equals(before):
		return entry, nil
	case after.Empty():
		return nil, nil
	}
	text, err := after.ToJSON()
	if err != nil {
		return nil, err
	}
	entry = maps.Clone(entry)
	entry["fieldsV1"] = json.RawMessage(text)
	return entry, nil
}

// ownership classifies an entry of managedFields.
type ownership int

const (
	otherOwner  ownership = iota
	applyOwner            // the manager of the apply
	formerOwner           // a client-side release, or a manager that the release takes over
)

// ownedBy returns the fields of an entry that the release owns or takes over, and the rest.
func ownedBy(it plan.Item, entry map[string]any) (owned, rest map[string]any, of ownership) {
	name, _ := entry["manager"].(string)
	version, _ := entry["apiVersion"].(string)
	owned, _ = entry["fieldsV1"].(map[string]any)
	if sub, _ := entry["subresource"].(string); sub != "" {
		return nil, nil, otherOwner
	}
	switch {
	case name == kube.FieldManager && entry["operation"] == "Apply":
		of = applyOwner
	case plan.IsHelm(name):
		of = formerOwner
	case plan.Migrates(name):
		if owned, rest = plan.MigratedFields(it, version, owned); owned == nil {
			return nil, nil, otherOwner
		}
		return owned, rest, formerOwner
	default:
		return nil, nil, otherOwner
	}
	if text := owned["f:stringData"]; text != nil {
		// Helm 4 applies stringData. The server stores it as data, and would keep
		// there what the chart has dropped.
		return mergeStringData(owned, text), nil, formerOwner
	}
	return owned, nil, of
}

// mergeStringData returns a field set with the fields of stringData moved to data.
func mergeStringData(owned map[string]any, text any) map[string]any {
	out := maps.Clone(owned)
	delete(out, "f:stringData")
	data, _ := owned["f:data"].(map[string]any)
	both := maps.Clone(data)
	if both == nil {
		both = map[string]any{}
	}
	if keys, ok := text.(map[string]any); ok {
		maps.Copy(both, keys)
	}
	out["f:data"] = both
	return out
}

func union(a, b *fieldpath.Set) *fieldpath.Set {
	if a == nil {
		return b
	}
	return a.Union(b)
}

func fieldSet(fields map[string]any) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if len(fields) == 0 {
		return set, nil
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return set, set.FromJSON(strings.NewReader(string(text)))
}

// isChanged reports whether the resource version in the response to a write differs from
// live's.
func isChanged(live map[string]any, answer []byte) bool {
	var now struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(answer, &now)
	return now.Metadata.ResourceVersion == "" ||
		now.Metadata.ResourceVersion != api.String(live, "metadata", "resourceVersion")
}
