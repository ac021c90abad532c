// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/moonhelm/moonhelm/progress"
)

// FieldConflict is one field that somebody else manages and the release sets to
// another value.
type FieldConflict struct {
	Object string
	Source string // the template, "" where not known
	// Field is the path as the server writes it: ".spec.replicas".
	Field string
	// Manager is who has set it: "kubectl-edit", with the version of the API
	// and the subresource where the server tells.
	Manager string
}

// ApplyConflictError lists the fields for which the server refuses an apply.
type ApplyConflictError struct{ Conflicts []FieldConflict }

func (e *ApplyConflictError) Error() string {
	var b strings.Builder
	object := ""
	b.WriteString("others manage fields that the release sets to another value: --force-conflicts takes them over")
	for _, f := range e.Conflicts {
		if f.Object != object {
			object = f.Object
			fmt.Fprintf(&b, "\n  %s", object)
			if f.Source != "" {
				fmt.Fprintf(&b, " (%s)", f.Source)
			}
		}
		fmt.Fprintf(&b, "\n    %s is managed by %s", f.Field, f.Manager)
	}
	return b.String()
}

// gather makes one [*ApplyConflictError] out of those that err joins.
func gather(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	all := &ApplyConflictError{}
	var others []error
	for _, e := range joined.Unwrap() {
		var conflict *ApplyConflictError
		if errors.As(e, &conflict) {
			all.Conflicts = append(all.Conflicts, conflict.Conflicts...)
		} else {
			others = append(others, e)
		}
	}
	if len(all.Conflicts) > 0 {
		others = append([]error{all}, others...)
	}
	if len(others) == 1 {
		return others[0]
	}
	return errors.Join(others...)
}

// applyConflict makes a typed error of the server's refusal, and nil of any
// other. But leaves out the managers that it says yes to.
func applyConflict(t *target, err error, but func(manager string) bool) *ApplyConflictError {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	e := &ApplyConflictError{}
	found := false
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		found = true
		// The message is: conflict with "kubectl-edit" using apps/v1
		manager := strings.TrimPrefix(cause.Message, "conflict with ")
		if name, err := strconv.QuotedPrefix(manager); err == nil {
			name, _ = strconv.Unquote(name)
			if but != nil && but(name) {
				continue
			}
		}
		e.Conflicts = append(e.Conflicts, FieldConflict{Object: t.String(), Source: t.source, Field: cause.Field, Manager: manager})
	}
	if !found {
		return nil
	}
	return e
}

// former tells whether a field manager is a Helm that has updated objects on
// the client's side.
func former(name string) bool { return strings.EqualFold(name, manager) || name == "helm3" }

const applyPatch = "application/apply-patch+yaml"

// applyServerSide has the server merge the new object. What a client-side
// release has set is moved to the manager that applies first: fields that the
// chart has dropped since go with it.
func (c *Client) applyServerSide(ctx context.Context, j *job) error {
	if err := c.takeFields(ctx, j.target, j.Live); err != nil {
		return j.fail("move the fields of", err)
	}
	query := c.writing()
	query.Set("force", strconv.FormatBool(j.plan.ForceConflicts))
	answer, err := c.Call(ctx, http.MethodPatch, j.path(), query, briefly(applyPatch), j.Patch)
	if conflict := applyConflict(j.target, err, nil); conflict != nil {
		return conflict
	}
	if err != nil {
		return err
	}
	switch {
	case j.Live == nil:
		c.progress.Send(progress.Event{Kind: progress.Created, Object: j.short()})
	case changed(j.Live, answer):
		c.progress.Send(progress.Event{Kind: progress.Updated, Object: j.short()})
	}
	return nil
}

// moveTries bounds how often fields are moved again because somebody was quicker.
const moveTries = 5

// takeFields moves the fields that client-side releases have set, the manager's
// by operation Update, to those that it applies.
func (c *Client) takeFields(ctx context.Context, t *target, live map[string]any) error {
	if live == nil || c.dryRun {
		return nil
	}
	for tries := 0; ; tries++ {
		entries, err := movedFields(live)
		if err != nil || entries == nil {
			return err
		}
		// The version is replaced, not tested: then the server answers with a
		// conflict where it is not this one any more.
		body, err := json.Marshal([]map[string]any{
			{"op": "replace", "path": "/metadata/managedFields", "value": entries},
			{"op": "replace", "path": "/metadata/resourceVersion", "value": textAt(live, "metadata", "resourceVersion")},
		})
		if err != nil {
			return err
		}
		_, err = c.Call(ctx, http.MethodPatch, t.path(), c.writing(), briefly("application/json-patch+json"), body)
		if apierrors.IsNotFound(err) {
			return nil // applying creates it
		}
		if !apierrors.IsConflict(err) || tries == moveTries {
			return err
		}
		if live, err = c.wholeOne(ctx, t, true); live == nil {
			return err
		}
	}
}

// movedFields is an object's managedFields with what client-side releases have
// set made the manager's that applies; nil where there is nothing to move.
func movedFields(live map[string]any) ([]any, error) {
	metadata, _ := live["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	var out []any
	var applied map[string]any // the manager's entry
	var all *fieldpath.Set
	moved := false
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		name, _ := entry["manager"].(string)
		sub, _ := entry["subresource"].(string)
		updates := former(name) && entry["operation"] == "Update" && sub == ""
		if !updates && (name != manager || entry["operation"] != "Apply" || sub != "") {
			out = append(out, e)
			continue
		}
		owned, _ := entry["fieldsV1"].(map[string]any)
		if text := owned["f:stringData"]; text != nil {
			// Helm 4 applies a Secret's text as such, which leaves behind what a
			// chart drops: what the Secret holds is its data.
			owned = intoData(owned, text)
			updates = true
		}
		moved = moved || updates
		fields, err := fieldSet(owned)
		if err != nil {
			return nil, err
		}
		if all = union(all, fields); applied == nil {
			applied = map[string]any{"manager": manager, "operation": "Apply", "apiVersion": entry["apiVersion"], "fieldsType": "FieldsV1", "time": entry["time"]}
			out = append(out, applied)
		}
	}
	if !moved {
		return nil, nil
	}
	text, err := all.ToJSON()
	if err != nil {
		return nil, err
	}
	applied["fieldsV1"] = json.RawMessage(text)
	return out, nil
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

// changed tells whether an answer to a write is newer than live.
func changed(live map[string]any, answer []byte) bool {
	var now struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(answer, &now)
	return now.Metadata.ResourceVersion == "" || now.Metadata.ResourceVersion != textAt(live, "metadata", "resourceVersion")
}
