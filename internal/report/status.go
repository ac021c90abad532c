// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/op"
	"github.com/moonhelm/moonhelm/release"
)

// WriteStatus prints a release with its objects as they are in the cluster.
// JSON and YAML hold them under info.resources, without the chart.
func WriteStatus(s term.Streams, f output.Format, st *op.ReleaseStatus) error {
	if f == output.Table {
		objects := st.Objects
		if st.Release.Info.Status == release.Uninstalled { // nobody misses them
			objects = slices.DeleteFunc(slices.Clone(objects), func(o op.LiveObject) bool { return o.Live == nil })
		}
		return View{Resources: resources(objects)}.Write(s, f, st.Release)
	}
	bare := st.Release.Clone()
	bare.SetChart(nil)
	text, err := json.Marshal(bare)
	if err != nil {
		return fmt.Errorf("write release %s: %w", bare.Name, err)
	}
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		return fmt.Errorf("write release %s: %w", bare.Name, err)
	}
	delete(value, "chart")
	if info, ok := value["info"].(map[string]any); ok {
		info["resources"] = byKind(st.Objects)
	}
	return f.Write(s.Out, value, func(io.Writer) error { return nil })
}

// byKind holds the objects as JSON and YAML show them: under "v1/Deployment" a
// list of objects; under "v1/Pod(related)", as Helm has it, a list of one
// PodList.
func byKind(objects []op.LiveObject) map[string][]any {
	out := map[string][]any{}
	related := map[string]map[string]any{}
	for _, o := range objects {
		section := o.Section()
		switch {
		case o.Live == nil:
		case !o.Related:
			out[section] = append(out[section], o.Live)
		case related[section] == nil:
			related[section] = map[string]any{
				"apiVersion": o.APIVersion, "kind": o.Kind + "List", "metadata": map[string]any{}, "items": []any{o.Live},
			}
			out[section] = []any{related[section]}
		default:
			list := related[section]
			list["items"] = append(list["items"].([]any), o.Live) // made above
		}
	}
	return out
}

// resources prints objects in one small table per kind, in the order in which
// kinds first appear, and those that are missing at the end.
func resources(objects []op.LiveObject) string {
	var order []string
	rows := map[string][][]string{}
	var missing []string
	for _, o := range objects {
		if o.Live == nil {
			missing = append(missing, o.Kind+"/"+o.Name)
			continue
		}
		section := o.Section()
		if rows[section] == nil {
			order = append(order, section)
			rows[section] = [][]string{o.Columns}
		}
		rows[section] = append(rows[section], o.Cells)
	}
	var b strings.Builder
	for _, section := range order {
		fmt.Fprintf(&b, "==> %s\n", term.SafeLine(section))
		align(&b, rows[section])
		b.WriteByte('\n')
	}
	if len(missing) > 0 {
		b.WriteString("==> MISSING\n")
		for _, m := range missing {
			fmt.Fprintf(&b, "%s\n", term.SafeLine(m))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// align prints rows in columns three spaces apart, as kubectl does.
func align(b *strings.Builder, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(term.SafeLine(cell)))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			cell = term.SafeLine(cell)
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+3))
			}
		}
		b.WriteByte('\n')
	}
}
