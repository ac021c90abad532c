// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
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
		v := View{Resources: resources(objects)}
		if output.OnScreen(s) {
			v.Resources = fittedResources(objects, s.Style(s.Out), term.Width(s.Out))
			v.Now = time.Now()
		}
		return v.Write(s, f, st.Release)
	}
	value, err := withResources(shown(st.Release, true), byKind(st.Objects))
	if err != nil {
		return fmt.Errorf("write release %s: %w", st.Release.Name, err)
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
	return sections(objects, term.Style{}, align)
}

// fittedResources is resources for a terminal.
func fittedResources(objects []status.LiveObject, st term.Style, columns int) string {
	return sections(objects, st, func(b *strings.Builder, rows [][]string) {
		b.WriteString(output.Grid{Header: rows[0], Rows: rows[1:], Style: stateStyle(st, rows[0])}.Fit(columns))
	})
}

// sections formats objects with table, which writes the columns and the cells of one kind.
func sections(objects []status.LiveObject, st term.Style, table func(*strings.Builder, [][]string)) string {
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
		fmt.Fprintf(&b, "%s\n", st.Bold("==> "+term.SafeLine(section)))
		table(&b, rows[section])
		b.WriteByte('\n')
	}
	if len(missing) > 0 {
		fmt.Fprintf(&b, "%s\n", st.Red("==> MISSING"))
		for _, m := range missing {
			fmt.Fprintf(&b, "%s\n", term.SafeLine(m))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// stateStyle colours the columns STATUS and READY of the server's table.
func stateStyle(st term.Style, header []string) func(row, column int, cell string) string {
	return func(row, column int, cell string) string {
		switch {
		case row < 0:
			return st.Dim(cell)
		case column >= len(header):
		case header[column] == "STATUS":
			return phase(st, cell)
		case header[column] == "READY":
			if have, want, ok := strings.Cut(cell, "/"); ok && have != want {
				return st.Yellow(cell)
			}
		}
		return cell
	}
}

// phase returns the status of an object in its colour.
func phase(st term.Style, text string) string {
	switch text {
	case "Running", "Succeeded", "Completed", "Complete", "Bound", "Active", "Ready", "True":
		return st.Green(text)
	case "Pending", "ContainerCreating", "PodInitializing", "Terminating", "Unknown":
		return st.Yellow(text)
	}
	for _, bad := range []string{"Err", "Fail", "BackOff", "Evicted", "Kill", "False", "Lost", "Invalid"} {
		if strings.Contains(text, bad) {
			return st.Red(text)
		}
	}
	return text
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
