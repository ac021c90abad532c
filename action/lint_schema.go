// SPDX-License-Identifier: Apache-2.0

package action

import (
	"bytes"
	"errors"
	"path"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/chart/schema"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/event"
)

// checkSchema validates twice, as Helm's linter does: values.yaml merged with the user's
// values, and the values that templates see.
func (w *linter) checkSchema(pre *event.PreRender) {
	c := w.req.Chart
	if f := c.File(chart.FileSchema); f != nil && len(bytes.TrimSpace(f.Data)) == 0 {
		w.add(lint.Error, chart.FileSchema, 0,
			"the file is empty; write {} for a schema that allows everything, or remove it")
		return
	}
	var text []byte
	seen := map[schema.Violation]bool{}
	if f := c.File(chart.FileValues); f != nil {
		text = f.Data
		lists := values.ListsOf(c)
		merged, err := lists.Finish(lists.Merge(c.Values, w.req.Values))
		if err == nil {
			err = schema.Validate(c.Shallow(), values.Rounded(merged))
		}
		w.addViolations(seen, text, err)
	}
	w.addViolations(seen, text, schema.Validate(pre.Chart, values.Rounded(pre.Values)))
}

// addViolations adds the violations of a validation that are not in seen. text is the content
// of values.yaml.
func (w *linter) addViolations(seen map[schema.Violation]bool, text []byte, err error) {
	var broken *schema.SchemaError
	var bad *schema.Error
	root := w.req.Chart.Name()
	switch {
	case err == nil:
	case errors.As(err, &bad):
		for _, v := range bad.Violations {
			if !seen[v] {
				seen[v] = true
				w.findings = append(w.findings, lint.Violation(text, root, v.Chart, v.Path, v.Problem))
			}
		}
	case errors.As(err, &broken) && broken.Chart != root:
		w.add(lint.Error, path.Join(chart.DirCharts, broken.Chart, broken.File), 0, broken.Err.Error())
	case broken != nil:
		w.add(lint.Error, broken.File, 0, broken.Err.Error())
	default:
		w.add(lint.Error, chart.FileSchema, 0, err.Error())
	}
}
