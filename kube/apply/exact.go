// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/plan"
)

// absent is a resource version that no object has. The server ignores the version of an apply that
// creates the object, and answers 409 if the object exists and has another.
const absent = "1"

// body returns the body of the request for j. In an exact plan it has the resource version of the
// object that the step was computed for, so that the server refuses the request if the object has
// changed since, or if an object to create by an apply exists by now.
func (j *job) body() ([]byte, error) {
	if !j.plan.Exact {
		return j.Patch, nil
	}
	expected := map[string]string{"resourceVersion": absent}
	if j.Live != nil {
		if api.String(j.Live, "metadata", "resourceVersion") == "" {
			return j.Patch, nil
		}
		expected = map[string]string{"resourceVersion": api.String(j.Live, "metadata", "resourceVersion"),
			"uid": api.String(j.Live, "metadata", "uid")}
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(j.Patch, &body); err != nil {
		return nil, j.Fail("encode", err)
	}
	meta := map[string]json.RawMessage{}
	if raw := body["metadata"]; raw != nil {
		if err := json.Unmarshal(raw, &meta); err != nil {
			return nil, j.Fail("encode", err)
		}
	}
	for key, value := range expected {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, j.Fail("encode", err)
		}
		meta[key] = text
	}
	var err error
	if body["metadata"], err = json.Marshal(meta); err != nil {
		return nil, j.Fail("encode", err)
	}
	return json.Marshal(body)
}

// become makes step, which was computed for the object as it is now, the step of j. In an exact
// plan it returns a [*StaleError] if step does something else than the step before.
func (j *job) become(step plan.Step) error {
	if j.plan.Exact && step.Action != plan.Unchanged {
		if err := j.differs(step); err != nil {
			return err
		}
	}
	j.Step = step
	return nil
}

// differs returns a [*StaleError] if step does not do what the step of j does.
func (j *job) differs(step plan.Step) error {
	stale := func(format string, args ...any) error {
		return &StaleError{Object: j.String(), Change: fmt.Sprintf(format, args...)}
	}
	switch {
	case j.Live == nil && step.Live == nil: // created and deleted meanwhile
		return nil
	case j.Live == nil:
		return stale("another client has created it")
	case step.Live == nil:
		return stale("another client has deleted it")
	case api.String(step.Live, "metadata", "uid") != api.String(j.Live, "metadata", "uid"):
		return stale("another client has replaced it")
	case step.Action != j.Action:
		return stale("it would be a %s now, and not a %s", step.Action, j.Action)
	}
	planned, now := changeTexts(j.Step), changeTexts(step)
	for path, text := range now {
		if planned[path] != text {
			return stale("another client has changed %s", path)
		}
	}
	for path := range planned {
		if _, still := now[path]; !still {
			return stale("another client has changed %s", path)
		}
	}
	return nil
}

// changeTexts returns the changes of a step by path, each as JSON.
func changeTexts(s plan.Step) map[string]string {
	out := map[string]string{}
	for _, c := range plan.Changes(s) {
		text, _ := json.Marshal([]any{c.Have, c.Want}) // values were read from JSON
		out[c.Path] = string(text)
	}
	return out
}

// A StaleError is returned for an object of an exact plan ([plan.Plan.Exact]) that another client has
// changed since the plan was computed, so that the step would not do what was planned. The object
// was not written.
type StaleError struct {
	Object string
	Change string // "another client has changed spec.replicas"
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("%s: the plan no longer holds: %s", e.Object, strings.TrimSpace(e.Change))
}

// Hint says what to do.
func (e *StaleError) Hint() string {
	return "nothing was written to this object; make a new plan, which shows what has changed"
}
