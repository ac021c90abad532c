// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/kube/status"
	"github.com/moonhelm/moonhelm/release"
)

// WriteStatus prints a release with its live objects. In JSON and YAML they are in info.resources,
// and the chart is omitted.
func WriteStatus(s term.Streams, f output.Format, st *action.ReleaseStatus) error {
	if f == output.Table {
		objects := st.Objects
		if st.Release.Info.Status == release.Uninstalled { // their absence is expected
			objects = slices.DeleteFunc(slices.Clone(objects), func(o status.LiveObject) bool { return o.Live == nil })
		}
		return View{Resources: resources(objects)}.Write(s, f, st.Release)
	}
	bare := st.Release.Clone()
	bare.SetChart(nil)
	value, err := withResources(bare, byKind(st.Objects))
	if err != nil {
		return fmt.Errorf("write release %s: %w", bare.Name, err)
	}
	return f.Write(s.Out, value, func(io.Writer) error { return nil })
}

// withResources returns the JSON of a release, in Helm's order of keys, with objects as the last
// key of info. The key is omitted if there are no objects.
func withResources(rel *release.Release, objects map[string][]any) (json.RawMessage, error) {
	text, err := json.Marshal(rel)
	if err != nil || len(objects) == 0 {
		return text, err
	}
	resources, err := json.Marshal(objects)
	if err != nil {
		return nil, err
	}
	var parts struct{ Info json.RawMessage }
	if err := json.Unmarshal(text, &parts); err != nil {
		return nil, err
	}
	info := bytes.TrimSuffix(parts.Info, []byte("}"))
	whole := slices.Concat(info, []byte(`,"resources":`), resources, []byte("}"))
	return bytes.Replace(text, parts.Info, whole, 1), nil
}

// byKind returns the live objects for JSON and YAML: the key "v1/Deployment" has a list of objects,
// and "v1/Pod(related)" a list with one PodList, as in Helm.
func byKind(objects []status.LiveObject) map[string][]any {
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
			list["items"] = append(list["items"].([]any), o.Live) // appended above
		}
	}
	return out
}

// resources formats objects as one table per kind, in the order in which the kinds first occur, and
// then lists missing objects.
func resources(objects []status.LiveObject) string {
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

// align writes rows in columns separated by three spaces, as kubectl does.
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
