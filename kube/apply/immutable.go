// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/plan"
)

// annotationReplace on an object of the chart says that it is deleted and
// created again where it cannot be updated.
const annotationReplace = "helm.sh/replace"

// An ImmutableError is returned when an update changes fields that cannot be changed once
// an object exists.
type ImmutableError struct {
	Object string // with its namespace
	Source string // the template, "" where not known
	Fields []string
	// Precious is set where replacing the object would lose what it holds, or
	// that it shall be kept: a flag for all objects does not replace this one.
	Precious bool
	Err      error // the server's answer
}

func (e *ImmutableError) Error() string {
	from := ""
	if e.Source != "" {
		from = " (" + e.Source + ")"
	}
	s := fmt.Sprintf("update %s%s: %s: field is immutable, it cannot be changed once the object exists", e.Object, from,
		strings.Join(e.Fields, ", "))
	if e.Precious {
		return s + `: put it back, or give the object the annotation ` + annotationReplace +
			`: "true", which deletes it with all it holds and creates it again; --force-replace alone does not touch it`
	}
	return s + `: --force-replace, or the annotation ` + annotationReplace +
		`: "true" on the object, deletes it and creates it again`
}

func (e *ImmutableError) Unwrap() error { return e.Err }

// replaceable reports whether a step's object may be deleted and created again:
// its annotation says so, or the plan does and nothing is lost with it.
func replaceable(s plan.Step, all bool) bool {
	if plan.Replaceable(s) {
		return true
	}
	return all && !precious(s.Item)
}

// precious reports that an object holds what no one brings back.
func precious(it plan.Item) bool {
	switch it.Kind {
	case "PersistentVolumeClaim", "PersistentVolume", "Namespace", api.CRDKind:
		return true
	}
	return strings.EqualFold(strings.TrimSpace(api.String(it.New, "metadata", "annotations", "helm.sh/resource-policy")),
		"keep")
}

// immutable makes an [*ImmutableError] of the server's refusal to change
// fields, and returns nil where it refuses for another reason.
func immutable(s plan.Step, object string, err error) *ImmutableError {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	e := &ImmutableError{Object: object, Source: s.Source, Precious: precious(s.Item), Err: err}
	for _, cause := range status.Status().Details.Causes {
		if !saysImmutable(cause.Message) {
			return nil // replacing it would not help
		}
		e.Fields = append(e.Fields, blame(s, cause.Field, cause.Message)...)
	}
	slices.Sort(e.Fields)
	if e.Fields = slices.Compact(e.Fields); len(e.Fields) == 0 {
		return nil
	}
	return e
}

// saysImmutable knows the words in which the API server's validations, and the
// rules of custom resources, say that a field keeps its value.
func saysImmutable(message string) bool {
	message = strings.ToLower(message)
	for _, words := range []string{
		"immutable", "may not change", "may not be changed", "cannot be changed", "can not be changed", "must not be changed",
		"cannot change", "may not be updated", "cannot be updated", "updates to ", "updates are forbidden",
		"may not be unset", "not allowed to change",
		"may not be set once", "can not be less than",
	} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}

// blame names the fields that the server means. Of a whole spec it says which
// of its fields may change: the others that would are meant.
func blame(s plan.Step, field, message string) []string {
	switch live, after := fieldAt(s.Live, field), fieldAt(s.After, field); {
	case field == "":
		return []string{"a field"}
	case field == "spec.clusterIPs[0]" && fieldAt(s.New, "spec")["clusterIPs"] == nil:
		return []string{"spec.clusterIP"} // the server keeps both alike
	case field == "spec" && live != nil && after != nil:
		if fields := blameSpec(live, after, message); len(fields) > 0 {
			return fields
		}
	}
	return []string{field}
}

func blameSpec(live, after map[string]any, message string) []string {
	var out []string
	for key := range after {
		may := strings.Contains(message, "'"+key+"'") || strings.Contains(message, "`spec."+key) || key == "resources" &&
			strings.Contains(message, "resources.requests")
		if !may && !reflect.DeepEqual(live[key], after[key]) {
			out = append(out, "spec."+key)
		}
	}
	for key := range live {
		if _, ok := after[key]; !ok {
			out = append(out, "spec."+key)
		}
	}
	return out
}

// fieldAt is the map at a path such as "spec.template", nil where there is none.
func fieldAt(object map[string]any, field string) map[string]any {
	for part := range strings.SplitSeq(field, ".") {
		object, _ = object[part].(map[string]any)
	}
	return object
}
