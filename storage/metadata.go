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

// annotation is where a record says what lists show of it, so that a list need
// not read the record. Helm neither reads nor keeps it: a record that Helm has
// changed comes without it and is read singly.
const annotation = "moonhelm.github.io/summary"

// maxSummary keeps a description of many kilobytes out of the annotation.
const maxSummary = 8 << 10

// The annotations that show who is at work on a pending revision.
const (
	annotationHolder = "moonhelm.github.io/holder"
	annotationBeat   = "moonhelm.github.io/beat"
)

type metadataList struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []struct {
		Metadata objectMeta `json:"metadata"`
	} `json:"items"`
}

// summaryJSON is the annotation's text.
type summaryJSON struct {
	Status       release.Status `json:"status"`
	Updated      time.Time      `json:"updated"`
	Chart        string         `json:"chart"`
	ChartVersion string         `json:"chartVersion"`
	AppVersion   string         `json:"appVersion,omitempty"`
	Description  string         `json:"description,omitempty"`
	// Rollback is the revision that a rollback took up again.
	Rollback int `json:"rollback,omitempty"`
}

// annotations are those of a record that is written at a time.
func annotations(r Record, b beside, now time.Time) map[string]string {
	out := maps.Clone(b.foreign)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, annotate(r.Summary))
	if b.parts.Count > 0 {
		text, _ := json.Marshal(b.parts) // plain data
		out[annotationParts] = string(text)
	}
	if r.Holder != "" && r.Status.InProgress() {
		out[annotationHolder] = r.Holder
		out[annotationBeat] = now.UTC().Format(time.RFC3339Nano)
	}
	return out
}

// maxForeign is how many bytes of foreign annotations are kept. An API server takes
// 256 KiB of annotations, and kubectl may have put the whole record into one.
const maxForeign = 128 << 10

// foreignAnnotations are those of a record that other programs have put there: backup
// tools, controllers that watch Secrets. They are nil where there are too many to be
// written again: the record comes first.
func foreignAnnotations(all map[string]string) map[string]string {
	var out map[string]string
	size := 0
	for k, v := range all {
		switch k {
		case annotation, annotationParts, annotationHolder, annotationBeat:
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

// shorten is s without what the record's key tells.
func shorten(s *release.Summary) *summaryJSON {
	return &summaryJSON{
		Status: s.Status, Updated: s.Updated, Description: s.Description,
		Chart: s.Chart, ChartVersion: s.ChartVersion, AppVersion: s.AppVersion, Rollback: s.RollbackRevision,
	}
}

// of is the summary of r.
func (s *summaryJSON) of(r *Record) *release.Summary {
	return &release.Summary{
		Name: r.Name, Namespace: r.Namespace, Revision: r.Revision, Status: s.Status, Updated: s.Updated,
		Chart: s.Chart, ChartVersion: s.ChartVersion, AppVersion: s.AppVersion, Description: s.Description,
		RollbackRevision: s.Rollback, Labels: r.Labels,
	}
}

func annotate(s *release.Summary) map[string]string {
	if s == nil {
		return nil
	}
	text, err := json.Marshal(shorten(s))
	if err != nil || len(text) > maxSummary {
		return nil
	}
	return map[string]string{annotation: string(text)}
}

// record makes a record of a Secret's metadata; ok is false for a Secret that
// is none of ours although its labels look so.
func (m *objectMeta) record() (Record, bool) {
	name := m.Labels[labelName]
	revision, err := strconv.Atoi(m.Labels[labelRevision])
	r := Record{
		Key:    Key{Namespace: m.Namespace, Name: name, Revision: revision},
		Status: release.Status(m.Labels[labelStatus]),
		Labels: userLabels(m.Labels), Times: timeLabels(m.Labels), Holder: m.Annotations[annotationHolder],
		Version: m.state(),
	}
	format, named := r.Key.named(m.Name)
	if err != nil || name == "" || !named {
		return r, false
	}
	if r.Format = format; format != "" {
		return r, true
	}
	var s summaryJSON
	text := m.Annotations[annotation]
	// A status that differs shows that another client changed the record and left the
	// annotation as it was.
	if text == "" || json.Unmarshal([]byte(text), &s) != nil || s.Status != r.Status {
		return r, true
	}
	r.Summary = s.of(&r)
	return r, true
}

// timeLabels are those of labels that say when the record was written.
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

// userLabels is labels without those that every record has.
func userLabels(labels map[string]string) map[string]string {
	own := maps.Clone(labels)
	for k := range own {
		if systemLabel(k) {
			delete(own, k)
		}
	}
	if len(own) == 0 {
		return nil
	}
	return own
}

// A LabelError is returned by [CheckLabels] for a label that a record cannot have.
type LabelError struct{ Problem string }

func (e *LabelError) Error() string { return e.Problem }

// CheckLabels returns a [*LabelError] where a release's record cannot have one of a
// user's labels: names that records use themselves, and what Kubernetes refuses.
func CheckLabels(labels map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if systemLabel(key) {
			return &LabelError{fmt.Sprintf("user supplied labels contains system reserved label name %q. System labels: [%s]",
				key, strings.Join(systemLabels, ", "))}
		}
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			return &LabelError{fmt.Sprintf("%q is not a name of a label: %s", key, strings.Join(problems, "; "))}
		}
		if problems := validation.IsValidLabelValue(labels[key]); len(problems) > 0 {
			return &LabelError{fmt.Sprintf("%q is not a value for the label %s: %s", labels[key], key,
				strings.Join(problems, "; "))}
		}
	}
	return nil
}

// systemLabels are the labels that records have themselves.
var systemLabels = []string{labelName, labelOwner, labelStatus, labelRevision, labelCreated, labelModified}

func systemLabel(name string) bool { return slices.Contains(systemLabels, name) }
