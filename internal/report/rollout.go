// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
)

// rollout is a rollout in JSON and YAML. Times are in seconds from its begin.
type rollout struct {
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Revision  int             `json:"revision"`
	Status    string          `json:"status"`
	Ready     bool            `json:"ready"`
	Seconds   float64         `json:"seconds"`
	Error     string          `json:"error,omitempty"`
	Objects   []rolloutObject `json:"objects"`
}

// rolloutObject is an object of a rollout. Either ready or missing is set.
type rolloutObject struct {
	Kind      string             `json:"kind"`
	Name      string             `json:"name"`
	Namespace string             `json:"namespace,omitempty"`
	State     string             `json:"state"`
	Ready     *float64           `json:"ready,omitempty"`
	Missing   string             `json:"missing,omitempty"`
	Pod       string             `json:"pod,omitempty"`
	Phases    map[string]float64 `json:"phases,omitempty"`
	Restarts  int                `json:"restarts,omitempty"`
}

// WriteRollout prints what a rollout has seen that ended with failed, or nil.
func WriteRollout(s term.Streams, f output.Format, out *action.RolledOut, failed error) error {
	rel, t := out.Release, out.Timeline
	value := rollout{Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision, Status: string(rel.Info.Status),
		Ready: failed == nil, Seconds: seconds(t.Took), Objects: []rolloutObject{}}
	if failed != nil {
		value.Error, _, _ = strings.Cut(failed.Error(), "\n")
	}
	for _, e := range t.Entries {
		value.Objects = append(value.Objects, newRolloutObject(e))
	}
	return f.Write(s.Out, value, func(w io.Writer) error {
		if len(t.Entries) == 0 && failed != nil {
			return nil
		}
		text := strings.Join(t.Lines(fmt.Sprintf("revision %d of %s", rel.Revision, rel.Name)), "\n")
		_, err := fmt.Fprintln(w, term.Safe(text))
		return err
	})
}

func newRolloutObject(e action.TimelineEntry) rolloutObject {
	o := rolloutObject{Kind: e.Kind, Name: e.Name, Namespace: e.Namespace, State: e.State, Missing: e.Missing, Pod: e.Pod,
		Restarts: e.Restarts}
	if e.State == "" {
		o.State = "waiting"
	} else {
		at := seconds(e.At)
		o.Ready = &at
	}
	for _, p := range e.Phases {
		if o.Phases == nil {
			o.Phases = map[string]float64{}
		}
		o.Phases[p.Name] = seconds(p.Took)
	}
	return o
}

// seconds returns a time in seconds, rounded to tenths.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }
