// SPDX-License-Identifier: Apache-2.0

package op

import (
	"errors"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/lint"
	"github.com/moonhelm/moonhelm/schema"
	"github.com/moonhelm/moonhelm/values"
)

// schema validates twice, as Helm's linter does: values.yaml with the user's
// values, so that the file is right by itself, and the values that templates
// see.
func (w *linting) schema(pre *event.PreRender) {
	file := w.req.Chart.File(chart.FileValues)
	seen := map[schema.Violation]bool{}
	if file != nil {
		alone := w.req.Chart.Shallow()
		w.violations(seen, file, schema.Validate(alone, values.Merge(w.req.Chart.Values, w.req.Values)))
	}
	w.violations(seen, file, schema.Validate(pre.Chart, pre.Values))
}

func (w *linting) violations(seen map[schema.Violation]bool, file *chart.File, err error) {
	if err == nil {
		return
	}
	var bad *schema.Error
	if !errors.As(err, &bad) {
		w.add(lint.Error, chart.FileSchema, 0, err.Error())
		return
	}
	for _, v := range bad.Violations {
		if seen[v] {
			continue
		}
		seen[v] = true
		var data []byte
		if file != nil {
			data = file.Data
		}
		w.findings = append(w.findings, lint.Violation(data, w.req.Chart.Name(), v.Chart, v.Path, v.Problem))
	}
}
