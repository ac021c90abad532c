// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/planfile"
)

// planCheck says whether a plan still holds, in JSON and YAML; see docs/formats/plan-check.schema.json.
type planCheck struct {
	Holds     bool       `json:"holds"`
	Expired   bool       `json:"expired,omitempty"`
	Operation string     `json:"operation"`
	Name      string     `json:"name"`
	Namespace string     `json:"namespace"`
	Created   time.Time  `json:"created"`
	Expires   *time.Time `json:"expires,omitempty"`
	// Changes is the number of objects, definitions and hooks that the plan writes.
	Changes     int              `json:"changes"`
	Differences []planDifference `json:"differences"`
}

type planDifference struct {
	Subject string   `json:"subject"`
	Then    []string `json:"then"`
	Now     []string `json:"now"`
}

// WritePlanCheck prints that a plan holds or, in a document, why it does not: stale is nil, or an error
// of [action.Apply.Check].
func WritePlanCheck(s term.Streams, f output.Format, doc *planfile.Document, stale error) error {
	if f == output.Table && stale != nil {
		return nil // the error has all there is to say
	}
	check := planCheck{Holds: stale == nil, Operation: doc.Operation, Name: doc.Release.Name,
		Namespace: doc.Release.Namespace, Created: doc.Created, Expires: doc.Expires, Changes: doc.Changes(),
		Differences: []planDifference{}}
	if differs, ok := errors.AsType[*action.StaleError](stale); ok {
		for _, d := range differs.Differences {
			check.Differences = append(check.Differences, planDifference{d.Subject, append([]string{}, d.Then...),
				append([]string{}, d.Now...)})
		}
	}
	_, check.Expired = errors.AsType[*action.ExpiredError](stale)
	return f.Write(s.Out, check, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "The plan holds: %s\n", PlanSummary(doc))
		return err
	})
}
