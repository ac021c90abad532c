// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/release"

	"k8s.io/apimachinery/pkg/util/validation"
)

// annotation contains the summary of a record as JSON, so that listing does not require to read
// the record. Helm ignores and drops it: records that Helm has updated lack it and are read.
const annotation = "moonhelm.github.io/summary"

// maxSummary is the maximum size of the annotation in bytes. A longer summary, because of its
// description, is not stored.
const maxSummary = 8 << 10

// The annotations with the holder of a pending revision and its heartbeat.
const (
	annotationHolder    = "moonhelm.github.io/holder"
	annotationHeartbeat = "moonhelm.github.io/beat"
)

type metadataList struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []struct {
		Metadata objectMeta `json:"metadata"`
	} `json:"items"`
}

// summaryJSON is the content of the annotation.
type summaryJSON struct {
	Status       release.Status `json:"status"`
	Updated      time.Time      `json:"updated"`
	Completed    *time.Time     `json:"completed,omitempty"`
	Chart        string         `json:"chart"`
	ChartVersion string         `json:"chartVersion"`
	AppVersion   string         `json:"appVersion,omitempty"`
	Description  string         `json:"description,omitempty"`
	// Rollback is the revision to which a rollback returned.
	Rollback int `json:"rollback,omitempty"`
}

// annotations returns the annotations of a record that is written at the time now.
func annotations(r Record, b annotationData, now time.Time) map[string]string {
	out := maps.Clone(b.foreign)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, summaryAnnotation(r.Summary))
	if b.parts.Count > 0 {
		text, _ := json.Marshal(b.parts) // plain data
		out[annotationParts] = string(text)
	}
	if r.Holder != "" && r.Status.InProgress() {
		out[annotationHolder] = r.Holder
		out[annotationHeartbeat] = now.UTC().Format(time.RFC3339Nano)
	}
	return out
}

// maxForeign is the maximum size of other clients' annotations that are preserved, in bytes. The API
// server accepts 256 KiB of annotations, and "kubectl apply" may have stored the whole record
// in one.
const maxForeign = 128 << 10

// foreignAnnotations returns the annotations that other programs have added, such as backup
// tools and controllers. It returns nil if they are too large.
func foreignAnnotations(all map[string]string) map[string]string {
	var out map[string]string
	size := 0
	for k, v := range all {
		switch k {
		case annotation, annotationParts, annotationHolder, annotationHeartbeat:
		default:
			if out == nil {
				out = map[string]string{}
			}
			out[k] = v
			size += len(k) + len(v)
		}
	}
	if size > maxForeign {
		return nil
	}
	return out
}

// newSummaryJSON returns s without the data in the record's key.
func newSummaryJSON(s *release.Summary) *summaryJSON {
	out := &summaryJSON{
		Status: s.Status, Updated: s.Updated, Description: s.Description,
		Chart: s.Chart, ChartVersion: s.ChartVersion, AppVersion: s.AppVersion, Rollback: s.RollbackRevision,
	}
	if !s.Completed.IsZero() {
		out.Completed = &s.Completed
	}
	return out
}

// summary returns the summary of r.
func (s *summaryJSON) summary(r *Record) *release.Summary {
	out := &release.Summary{
		Name: r.Name, Namespace: r.Namespace, Revision: r.Revision, Status: s.Status, Updated: s.Updated,
		Chart: s.Chart, ChartVersion: s.ChartVersion, AppVersion: s.AppVersion, Description: s.Description,
		RollbackRevision: s.Rollback, Labels: r.Labels,
	}
	if s.Completed != nil {
		out.Completed = *s.Completed
	}
	return out
}

func summaryAnnotation(s *release.Summary) map[string]string {
	if s == nil {
		return nil
	}
	text, err := json.Marshal(newSummaryJSON(s))
	if err != nil || len(text) > maxSummary {
		return nil
	}
	return map[string]string{annotation: string(text)}
}

// record returns the record with the metadata m. It returns false for an object with the labels
// of a record whose name does not match.
func (m *objectMeta) record() (Record, bool) {
	name := m.Labels[labelName]
	revision, err := strconv.Atoi(m.Labels[labelRevision])
	r := Record{
		Key:    Key{Namespace: m.Namespace, Name: name, Revision: revision},
		Status: release.Status(m.Labels[labelStatus]),
		Labels: userLabels(m.Labels), Times: timeLabels(m.Labels), Holder: m.Annotations[annotationHolder],
		Version: m.state(),
	}
	format, named := r.Key.formatOfName(m.Name)
	if err != nil || name == "" || !named {
		return r, false
	}
	if r.Format = format; format != "" {
		return r, true
	}
	var s summaryJSON
	text := m.Annotations[annotation]
	// If the status differs, another client has changed the record but not the annotation.
	if text == "" || json.Unmarshal([]byte(text), &s) != nil || s.Status != r.Status {
		return r, true
	}
	r.Summary = s.summary(&r)
	return r, true
}

// timeLabels returns the labels with the times of creation and modification.
func timeLabels(labels map[string]string) map[string]string {
	var out map[string]string
	for _, k := range []string{labelCreated, labelModified} {
		if v, ok := labels[k]; ok {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = v
		}
	}
	return out
}

// userLabels returns labels without those that every record has.
func userLabels(labels map[string]string) map[string]string {
	out := maps.Clone(labels)
	for k := range out {
		if isSystemLabel(k) {
			delete(out, k)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// A LabelError is returned by [CheckLabels] for an invalid label.
type LabelError struct{ Problem string }

func (e *LabelError) Error() string { return e.Problem }

// CheckLabels returns a [*LabelError] if the user's labels contain a name that records use
// themselves, or a name or value that Kubernetes does not permit.
func CheckLabels(labels map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if isSystemLabel(key) {
			return &LabelError{fmt.Sprintf("user supplied labels contains system reserved label name %q. System labels: [%s]",
				key, strings.Join(systemLabels, ", "))}
		}
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			return &LabelError{fmt.Sprintf("%q is not a valid label name: %s", key, strings.Join(problems, "; "))}
		}
		if problems := validation.IsValidLabelValue(labels[key]); len(problems) > 0 {
			return &LabelError{fmt.Sprintf("%q is not a valid value for label %s: %s", labels[key], key,
				strings.Join(problems, "; "))}
		}
	}
	return nil
}

// systemLabels are the labels that every record has.
var systemLabels = []string{labelName, labelOwner, labelStatus, labelRevision, labelCreated, labelModified}

func isSystemLabel(name string) bool { return slices.Contains(systemLabels, name) }
