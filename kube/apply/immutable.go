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
	"github.com/moonhelm/moonhelm/release"
)

// An ImmutableError is returned when an update changes immutable fields.
type ImmutableError struct {
	Object string // with its namespace
	Source string // the template, or "" if it is not known
	Fields []string
	// Precious is set if replacing the object would lose data or contradict its resource policy
	// "keep". Such an object is replaced only if its own annotation permits it.
	Precious bool
	Err      error // the server's error
}

func (e *ImmutableError) Error() string {
	from := ""
	if e.Source != "" {
		from = " (" + e.Source + ")"
	}
	s := fmt.Sprintf("update %s%s: %s: field is immutable, it cannot be changed once the object exists", e.Object, from,
		strings.Join(e.Fields, ", "))
	if e.Precious {
		return s + `: restore the old value, or set the annotation ` + release.ReplaceAnnotation +
			`: "true" on the object, which deletes it with its data and creates it again; --force-replace alone does not`
	}
	return s + `: --force-replace, or the annotation ` + release.ReplaceAnnotation +
		`: "true" on the object, deletes it and creates it again`
}

func (e *ImmutableError) Unwrap() error { return e.Err }

// isReplaceable reports whether a step's object may be deleted and recreated: if its annotation
// permits it, or if all is set and no data is lost.
func isReplaceable(s plan.Step, all bool) bool {
	if plan.Replaceable(s) {
		return true
	}
	return all && !isPrecious(s.Item)
}

// isPrecious reports whether deleting an object loses data, or its resource policy is "keep".
func isPrecious(it plan.Item) bool {
	switch it.Kind {
	case "PersistentVolumeClaim", "PersistentVolume", "Namespace", api.CRDKind:
		return true
	}
	return release.IsKeepPolicy(api.String(it.New, "metadata", "annotations", release.PolicyAnnotation))
}

// newImmutableError returns an [*ImmutableError] if err is about immutable fields only, else
// nil.
func newImmutableError(s plan.Step, object string, err error) *ImmutableError {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	e := &ImmutableError{Object: object, Source: s.Source, Precious: isPrecious(s.Item), Err: err}
	for _, cause := range status.Status().Details.Causes {
		if !isImmutableMessage(cause.Message) {
			return nil // replacing it would not help
		}
		e.Fields = append(e.Fields, immutableFields(s, cause.Field, cause.Message)...)
	}
	slices.Sort(e.Fields)
	if e.Fields = slices.Compact(e.Fields); len(e.Fields) == 0 {
		return nil
	}
	return e
}

// isImmutableMessage reports whether a message is one of those with which the API server's
// validation and the rules of CRDs refuse the change of an immutable field.
func isImmutableMessage(message string) bool {
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

// immutableFields returns the fields that a message about field means. A message about a whole
// spec lists the mutable fields: it means the others that change.
func immutableFields(s plan.Step, field, message string) []string {
	switch live, after := fieldAt(s.Live, field), fieldAt(s.After, field); {
	case field == "":
		return []string{"a field"}
	case field == "spec.clusterIPs[0]" && fieldAt(s.New, "spec")["clusterIPs"] == nil:
		return []string{"spec.clusterIP"} // the server synchronizes both fields
	case field == "spec" && live != nil && after != nil:
		if fields := immutableSpecFields(live, after, message); len(fields) > 0 {
			return fields
		}
	}
	return []string{field}
}

func immutableSpecFields(live, after map[string]any, message string) []string {
	var out []string
	for key := range after {
		mutable := strings.Contains(message, "'"+key+"'") || strings.Contains(message, "`spec."+key) || key == "resources" &&
			strings.Contains(message, "resources.requests")
		if !mutable && !reflect.DeepEqual(live[key], after[key]) {
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

// fieldAt returns the map at a path such as "spec.template", or nil if there is none.
func fieldAt(object map[string]any, field string) map[string]any {
	for part := range strings.SplitSeq(field, ".") {
		object, _ = object[part].(map[string]any)
	}
	return object
}
