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

// applyServerSide has the server merge the new object. What a client-side release
// has set is moved to the manager that applies first: fields that the chart has
// dropped since go with it.
//
// Where the server refuses it for fields that the plan did not know of, or because
// the object is another by now, it sends what the object as it is now calls for.
func (c *Applier) applyServerSide(ctx context.Context, j *job) error {
	if err := c.takeFields(ctx, j.Target, j.Item, j.Displaced); err != nil {
		return j.Fail("move the fields of", err)
	}
	for tries := 1; ; tries++ {
		answer, err := c.api.Call(ctx, http.MethodPatch, j.Path(), j.applying(c), briefly(applyPatch), j.Patch)
		if err == nil {
			c.applied(j, answer)
			return nil
		}
		no := applyRefused(j.Target, err, noManager)
		if no == nil && !apierrors.IsConflict(err) || tries == moveTries {
			return err
		}
		if err := c.contest(ctx, j, no); err != nil || j.Action == plan.Unchanged {
			return err
		}
	}
}

func noManager(string) bool { return false }

// applying is the query of an apply. Where conflicts are left unresolved the server is
// to name them.
func (j *job) applying(c *Applier) url.Values {
	query := c.writing()
	query.Set("force", strconv.FormatBool((j.Force || j.plan.Conflicts == plan.Take) && !unresolved(j.Step)))
	return query
}

func (c *Applier) applied(j *job, answer []byte) {
	switch {
	case j.Live == nil:
		c.api.Progress().Send(progress.Event{Kind: progress.Created, Object: j.Short()})
	case changed(j.Live, answer):
		c.api.Progress().Send(progress.Event{Kind: progress.Updated, Object: j.Short()})
	}
}

// contest makes j the step for what its object is now, with the fields for which the
// server has refused the last one.
func (c *Applier) contest(ctx context.Context, j *job, no *applyRefusal) error {
	live, err := c.managedOne(ctx, j.Target)
	if err != nil {
		return err
	}
	if api.String(live, "metadata", "uid") != api.String(j.Live, "metadata", "uid") && live != nil {
		if err := j.checkOwner(live); err != nil {
			return err
		}
	}
	known := j.Conflicts
	if j.refused == nil {
		j.refused = map[string]bool{}
	}
	if no != nil {
		maps.Copy(j.refused, no.fields)
	}
	next, err := j.compute(live, false)
	if err != nil {
		return err
	}
	if err := no.conflict(j.Target, next); err != nil {
		return err
	}
	j.Step = next
	c.tellConflicts(j, known)
	return nil
}

// tellConflicts tells of fields that are left to others, or taken, but for known ones.
func (c *Applier) tellConflicts(j *job, known []plan.Conflict) {
	for _, f := range j.Conflicts {
		if !slices.ContainsFunc(known, func(k plan.Conflict) bool { return k.Path == f.Path }) {
			c.api.Progress().Send(progress.Event{Kind: progress.Warning, Text: j.Short() + ": " + f.Sentence() + ": " +
				f.Outcome()})
		}
	}
}

// managedOne is wholeOne for an object that is about to be applied.
func (c *Applier) managedOne(ctx context.Context, t *api.Target) (map[string]any, error) {
	live, err := c.api.Read(ctx, t, true)
	if err != nil || live == nil {
		return live, err
	}
	c.completeManagers(ctx, t, live)
	return live, nil
}

// completeManagers gives an object without managedFields those that the server would
// give it at the first apply: all that is there, set by "before-first-apply". Backups
// are restored without them, and some programs clear them. Otherwise an apply would
// conflict with that manager where it changes a field, and leave it what it drops.
//
// The server is asked, because only it knows the schemas of all kinds. Where it does not
// say, the object stays as it is.
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
	query := c.writing()
	query.Set("dryRun", "All")
	query.Set("force", "true")
	answer, err := c.api.Call(ctx, http.MethodPatch, t.Path(), query, briefly(applyPatch), body)
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

// moveTries bounds how often fields are moved again because another client was quicker.
const moveTries = 5

// takeFields moves the fields that client-side releases have set, the manager's
// by operation Update, to those that it applies, and those that other managers have
// set which join the release, or are displaced.
func (c *Applier) takeFields(ctx context.Context, t *api.Target, it plan.Item, displaced []plan.DisplacedField) error {
	if it.Live == nil || c.api.IsDryRun() {
		return nil
	}
	for tries := 0; ; tries++ {
		entries, err := movedFields(it, displaced)
		if err != nil || entries == nil {
			return err
		}
		// The version is replaced, not tested: then the server answers with a
		// conflict where it is not this one any more. There may be no managers yet.
		body, err := json.Marshal([]map[string]any{
			{"op": "add", "path": "/metadata/managedFields", "value": entries},
			{"op": "replace", "path": "/metadata/resourceVersion", "value": api.String(it.Live, "metadata", "resourceVersion")},
		})
		if err != nil {
			return err
		}
		_, err = c.api.Call(ctx, http.MethodPatch, t.Path(), c.writing(), briefly("application/json-patch+json"), body)
		if apierrors.IsNotFound(err) {
			return nil // applying creates it
		}
		if !apierrors.IsConflict(err) || tries == moveTries {
			return err
		}
		if it.Live, err = c.managedOne(ctx, t); it.Live == nil {
			return err
		}
	}
}

// movedFields is an object's managedFields with what client-side releases have set,
// what of others' joins the release, and what is displaced made the manager's that
// applies: what it then does not apply goes. It is nil where there is nothing to move.
func movedFields(it plan.Item, displaced []plan.DisplacedField) ([]any, error) {
	metadata, _ := it.Live["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	var out []any
	var applied map[string]any // the manager's entry
	all, err := pathSet(displaced)
	if err != nil {
		return nil, err
	}
	gone := all
	moved := all != nil
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		owned, rest, of := ownedBy(it, entry)
		if of == others {
			if entry, err = withoutPaths(it, entry, gone); err != nil {
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
			if left, err = withoutPaths(it, left, gone); err != nil {
				return nil, err
			}
			if left != nil {
				out = append(out, left)
			}
		}
		moved = moved || of == former
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
	if applied == nil { // nothing but what is displaced
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

// pathSet is the set of displaced fields, nil where there are none.
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

// withoutPaths is an entry of managedFields without the fields of a set and all below
// them; nil where nothing is left.
func withoutPaths(it plan.Item, entry map[string]any, gone *fieldpath.Set) (map[string]any, error) {
	if gone == nil || entry["subresource"] != nil || entry["apiVersion"] != it.New["apiVersion"] {
		return entry, nil
	}
	owned, _ := entry["fieldsV1"].(map[string]any)
	before, err := fieldSet(owned)
	if err != nil {
		return nil, err
	}
	after := before.RecursiveDifference(gone)
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

// whose says whose an entry of managedFields is.
type whose int

const (
	others  whose = iota
	applier       // the manager's that applies
	former        // the release's, or to be, by another name or operation
)

// ownedBy are the fields of an entry that are to be the release's, and those of it
// that stay.
func ownedBy(it plan.Item, entry map[string]any) (owned, rest map[string]any, of whose) {
	name, _ := entry["manager"].(string)
	version, _ := entry["apiVersion"].(string)
	owned, _ = entry["fieldsV1"].(map[string]any)
	if sub, _ := entry["subresource"].(string); sub != "" {
		return nil, nil, others
	}
	switch {
	case name == kube.FieldManager && entry["operation"] == "Apply":
		of = applier
	case plan.IsHelm(name):
		of = former
	case plan.Migrates(name):
		if owned, rest = plan.MigratedFields(it, version, owned); owned == nil {
			return nil, nil, others
		}
		return owned, rest, former
	default:
		return nil, nil, others
	}
	if text := owned["f:stringData"]; text != nil {
		// Helm 4 applies a Secret's text as such, which leaves behind what a
		// chart drops: what the Secret holds is its data.
		return intoData(owned, text), nil, former
	}
	return owned, nil, of
}

// intoData is a book of fields with those of a Secret's stringData under data.
func intoData(owned map[string]any, text any) map[string]any {
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

// changed reports whether an answer to a write is newer than live.
func changed(live map[string]any, answer []byte) bool {
	var now struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(answer, &now)
	return now.Metadata.ResourceVersion == "" ||
		now.Metadata.ResourceVersion != api.String(live, "metadata", "resourceVersion")
}
