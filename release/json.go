// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// Keys that only Moonhelm writes.
const (
	keyPendingDeletions = "orphans"
	keyOrder            = "order"
	keyMoved            = "moved"
	keyDefinitions      = "definitions"
	keyValueOrigins     = "origins"
	keyLists            = "lists"
	keyTransfer         = "transfer"
	keyPatches          = "patches"
	keyCompleted        = "completed" // in info
)

// MarshalJSON encodes the record as Helm 4 does: with the same keys in the same order,
// without zero times. Unknown keys of a decoded record come last.
func (r *Release) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := r.write(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (r *Release) write(w io.Writer) error {
	o := objectWriter{w: w}
	o.value("name", r.Name)
	o.value("info", &r.Info)
	if text, err := r.chart.text(); err != nil {
		return fmt.Errorf("write chart of release %s: %w", r.Name, err)
	} else if text != nil {
		o.raw("chart", text)
	}
	if len(r.Config) > 0 {
		o.value("config", r.Config)
	}
	o.text("manifest", r.Manifest)
	if len(r.Hooks) > 0 {
		o.value("hooks", r.Hooks)
	}
	if r.Revision != 0 {
		o.value("version", r.Revision)
	}
	o.text("namespace", r.Namespace)
	o.text("apply_method", r.ApplyMethod)
	if r.scripts != nil {
		o.raw(keyScripts, r.scripts)
	}
	if len(r.PendingDeletions) > 0 {
		o.value(keyPendingDeletions, r.PendingDeletions)
	}
	if r.Order != nil {
		o.raw(keyOrder, r.Order)
	}
	if r.ValueOrigins != nil {
		o.raw(keyValueOrigins, r.ValueOrigins)
	}
	if r.Lists != nil {
		o.raw(keyLists, r.Lists)
	}
	if r.Transfer != nil {
		o.value(keyTransfer, r.Transfer)
	}
	if r.Patches != nil {
		o.raw(keyPatches, r.Patches)
	}
	if r.Moved != nil {
		o.raw(keyMoved, r.Moved)
	}
	if r.Definitions != nil {
		o.raw(keyDefinitions, r.Definitions)
	}
	return o.close(r.extra)
}

// UnmarshalJSON decodes a record of Helm 3 or Helm 4. It copies data once and leaves the
// chart encoded until [Release.Chart] is called.
func (r *Release) UnmarshalJSON(data []byte) error { return r.read(bytes.Clone(data)) }

// read is UnmarshalJSON without the copy: r keeps data.
func (r *Release) read(data []byte) error {
	*r = Release{}
	return members(data, func(key string, value json.RawMessage) error {
		switch key {
		case "name":
			return json.Unmarshal(value, &r.Name)
		case "info":
			return json.Unmarshal(value, &r.Info)
		case "chart":
			if !isNull(value) {
				r.chart = chartRecord{raw: value}
			}
			return nil
		case "config":
			return json.Unmarshal(value, &r.Config)
		case "manifest":
			return json.Unmarshal(value, &r.Manifest)
		case "hooks":
			err := json.Unmarshal(value, &r.Hooks)
			r.Hooks = slices.DeleteFunc(r.Hooks, func(h *Hook) bool { return h == nil })
			return err
		case "version":
			return json.Unmarshal(value, &r.Revision)
		case "namespace":
			return json.Unmarshal(value, &r.Namespace)
		case "apply_method":
			return json.Unmarshal(value, &r.ApplyMethod)
		case keyScripts:
			r.scripts = value
			return nil
		case keyPendingDeletions:
			return json.Unmarshal(value, &r.PendingDeletions)
		case keyOrder:
			if !isNull(value) {
				r.Order = value
			}
			return nil
		case keyValueOrigins:
			if !isNull(value) {
				r.ValueOrigins = value
			}
			return nil
		case keyLists:
			if !isNull(value) {
				r.Lists = value
			}
			return nil
		case keyTransfer:
			return json.Unmarshal(value, &r.Transfer)
		case keyPatches:
			if !isNull(value) {
				r.Patches = value
			}
			return nil
		case keyDefinitions:
			if !isNull(value) {
				r.Definitions = value
			}
			return nil
		case keyMoved:
			if !isNull(value) {
				r.Moved = value
			}
			return nil
		}
		r.extra = append(r.extra, member{key, value})
		return nil
	})
}

// MarshalJSON encodes the info object of a record.
func (i *Info) MarshalJSON() ([]byte, error) {
	return marshal(func(o *objectWriter) error {
		o.writeTime("first_deployed", i.FirstDeployed)
		o.writeTime("last_deployed", i.LastDeployed)
		o.writeTime(keyCompleted, i.Completed)
		o.writeTime("deleted", i.Deleted)
		o.text("description", i.Description)
		o.text("status", string(i.Status))
		o.text("notes", i.Notes)
		if i.RollbackRevision != 0 {
			o.value("rollback_revision", i.RollbackRevision)
		}
		return o.close(i.extra)
	})
}

// UnmarshalJSON decodes the info object of a record.
func (i *Info) UnmarshalJSON(data []byte) error {
	*i = Info{}
	if isNull(data) {
		return nil
	}
	return members(bytes.Clone(data), func(key string, value json.RawMessage) error {
		switch key {
		case "first_deployed":
			return readTime(value, &i.FirstDeployed)
		case "last_deployed":
			return readTime(value, &i.LastDeployed)
		case keyCompleted:
			return readTime(value, &i.Completed)
		case "deleted":
			return readTime(value, &i.Deleted)
		case "description":
			return json.Unmarshal(value, &i.Description)
		case "status":
			return json.Unmarshal(value, &i.Status)
		case "notes":
			return json.Unmarshal(value, &i.Notes)
		case "rollback_revision":
			return json.Unmarshal(value, &i.RollbackRevision)
		}
		i.extra = append(i.extra, member{key, value})
		return nil
	})
}

// MarshalJSON encodes a hook of a record.
func (h *Hook) MarshalJSON() ([]byte, error) {
	return marshal(func(o *objectWriter) error {
		o.text("name", h.Name)
		o.text("kind", h.Kind)
		o.text("path", h.Path)
		o.text("manifest", h.Manifest)
		if len(h.Events) > 0 {
			o.value("events", h.Events)
		}
		o.value("last_run", &h.LastRun)
		if h.Weight != 0 {
			o.value("weight", h.Weight)
		}
		if len(h.DeletePolicies) > 0 {
			o.value("delete_policies", h.DeletePolicies)
		}
		if len(h.OutputLogPolicies) > 0 {
			o.value("output_log_policies", h.OutputLogPolicies)
		}
		return o.close(h.extra)
	})
}

// UnmarshalJSON decodes a hook of a record.
func (h *Hook) UnmarshalJSON(data []byte) error {
	*h = Hook{}
	return members(bytes.Clone(data), func(key string, value json.RawMessage) error {
		switch key {
		case "name":
			return json.Unmarshal(value, &h.Name)
		case "kind":
			return json.Unmarshal(value, &h.Kind)
		case "path":
			return json.Unmarshal(value, &h.Path)
		case "manifest":
			return json.Unmarshal(value, &h.Manifest)
		case "events":
			return json.Unmarshal(value, &h.Events)
		case "last_run":
			return json.Unmarshal(value, &h.LastRun)
		case "weight":
			return json.Unmarshal(value, &h.Weight)
		case "delete_policies":
			return json.Unmarshal(value, &h.DeletePolicies)
		case "output_log_policies":
			return json.Unmarshal(value, &h.OutputLogPolicies)
		}
		h.extra = append(h.extra, member{key, value})
		return nil
	})
}

// MarshalJSON encodes the last run of a hook.
func (r *Run) MarshalJSON() ([]byte, error) {
	return marshal(func(o *objectWriter) error {
		o.writeTime("started_at", r.StartedAt)
		o.writeTime("completed_at", r.CompletedAt)
		o.value("phase", r.Phase)
		return o.close(r.extra)
	})
}

// UnmarshalJSON decodes the last run of a hook.
func (r *Run) UnmarshalJSON(data []byte) error {
	*r = Run{}
	if isNull(data) {
		return nil
	}
	return members(bytes.Clone(data), func(key string, value json.RawMessage) error {
		switch key {
		case "started_at":
			return readTime(value, &r.StartedAt)
		case "completed_at":
			return readTime(value, &r.CompletedAt)
		case "phase":
			return json.Unmarshal(value, &r.Phase)
		}
		r.extra = append(r.extra, member{key, value})
		return nil
	})
}

// readTime decodes a time. "" (Helm 3), null and Go's zero time all mean never.
func readTime(value json.RawMessage, t *time.Time) error {
	if isNull(value) || string(value) == `""` {
		*t = time.Time{}
		return nil
	}
	return json.Unmarshal(value, t)
}

func isNull(value []byte) bool { return string(bytes.TrimSpace(value)) == "null" }

func marshal(fill func(*objectWriter) error) ([]byte, error) {
	var b bytes.Buffer
	if err := fill(&objectWriter{w: &b}); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// objectWriter writes the members of a JSON object in the order of the calls and
// keeps the first error.
type objectWriter struct {
	w       io.Writer
	started bool
	err     error
}

func (o *objectWriter) raw(key string, text []byte) {
	if o.err != nil {
		return
	}
	lead := byte('{')
	if o.started {
		lead = ','
	}
	name, err := json.Marshal(key)
	if err != nil {
		o.err = err
		return
	}
	o.started = true
	for _, part := range [][]byte{{lead}, name, {':'}, text} {
		if _, err := o.w.Write(part); err != nil {
			o.err = err
			return
		}
	}
}

func (o *objectWriter) value(key string, v any) {
	text, err := json.Marshal(v)
	if err != nil && o.err == nil {
		o.err = err
	}
	o.raw(key, text)
}

// text writes a string unless it is empty.
func (o *objectWriter) text(key, s string) {
	if s != "" {
		o.value(key, s)
	}
}

// writeTime writes a time unless it is zero.
func (o *objectWriter) writeTime(key string, t time.Time) {
	if !t.IsZero() {
		o.value(key, t)
	}
}

func (o *objectWriter) close(extra []member) error {
	for _, m := range extra {
		o.raw(m.key, m.value)
	}
	if o.err != nil {
		return o.err
	}
	end := "}"
	if !o.started {
		end = "{}"
	}
	_, err := io.WriteString(o.w, end)
	return err
}
