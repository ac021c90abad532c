// SPDX-License-Identifier: Apache-2.0

package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/manifest"
)

// Step describes a handler that has run, for a trace function.
type Step struct {
	Event string
	Owner string
	// Where is the position in the owner's source, or "" if it is unknown.
	Where string
	// Chart is the path of the chart whose script the handler is in, or "" if it is in none.
	Chart    string
	Priority float64
	// Core is set for a step of the core, which has no priority.
	Core    bool
	Took    time.Duration
	Changes []Change
	Err     error
}

// Change is a change that a handler made.
type Change struct {
	// Path identifies the changed field: "values.mysql.port", "objects.Deployment/web.spec.replicas".
	Path string `json:"path"`
	// From and To are the old and the new value as text, or "" if there was or is none.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Before and After are the texts of a whole object or file, whose From and To are sizes.
	// They are "" for a Secret, and for other changes.
	Before string `json:"-"`
	After  string `json:"-"`
}

// Whole reports whether the change is that of a whole object or file.
func (c Change) Whole() bool {
	group, _, ok := strings.Cut(c.Path, ": ")
	return ok && (group == "objects" || group == "files")
}

// String formats the change for people: "values.port: 3306 → 3307",
// "objects: + ConfigMap/web-extra".
func (c Change) String() string {
	if group, name, _ := strings.Cut(c.Path, ": "); c.Whole() {
		switch {
		case c.From == "":
			return group + ": + " + name
		case c.To == "":
			return group + ": - " + name
		}
		return group + ": ~ " + name
	}
	switch {
	case c.From == "" && c.To == "":
		return c.Path
	case c.From == "":
		return c.Path + ": + " + c.To
	case c.To == "":
		return c.Path + ": - " + c.From
	}
	return c.Path + ": " + c.From + " → " + c.To
}

// payload is a snapshot of an event's data.
type payload struct {
	values  map[string]any
	charts  []chartFiles
	objects []*manifest.Object
}

type chartFiles struct {
	path             string
	templates, files []*chart.File
	dependencies     []*chart.Dependency
	version          string
	appVersion       string
}

func snapshot(e Event) payload {
	s := e.Data()
	return payload{values: values.Copy(s.Values), charts: filesOf(s.Chart), objects: slices.Clone(s.Objects)}
}

func filesOf(c *chart.Chart) []chartFiles {
	if c == nil {
		return nil
	}
	var out []chartFiles
	c.Walk(func(c *chart.Chart) {
		f := chartFiles{
			path: c.FullPath(), templates: slices.Clone(c.Templates), files: slices.Clone(c.Files),
			version: c.Version(), appVersion: c.AppVersion(),
		}
		if c.Metadata != nil {
			f.dependencies = slices.Clone(c.Metadata.Dependencies)
		}
		out = append(out, f)
	})
	return out
}

// changes returns the differences between s and the current data of e.
func (s payload) changes(e Event) []Change {
	data := e.Data()
	d := &differ{}
	d.value("values", anyMap(s.values), anyMap(data.Values))
	d.charts(s.charts, filesOf(data.Chart))
	d.objects(s.objects, data.Objects)
	if more := len(d.out) - maxChanges; more > 0 {
		return append(d.out[:maxChanges:maxChanges], Change{Path: fmt.Sprintf("… and %d more", more)})
	}
	return d.out
}

// maxChanges is how many changes of a handler a trace reports. Longer lists only fill
// logs.
const maxChanges = 500

// anyMap returns m, or an empty map if m is nil.
func anyMap(m map[string]any) any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

type differ struct{ out []Change }

func (d *differ) add(path, from, to string) {
	d.out = append(d.out, Change{Path: path, From: from, To: to})
}

// whole adds the change of a whole object or file. nil is one that is not there.
func (d *differ) whole(path string, from, to []byte) {
	c := Change{Path: path, Before: string(from), After: string(to)}
	if from != nil {
		c.From = size(from)
	}
	if to != nil {
		c.To = size(to)
	}
	d.out = append(d.out, c)
}

// value compares two values at a path and adds the differences, as deep in the value as
// possible.
func (d *differ) value(path string, a, b any) {
	am, aTable := a.(map[string]any)
	bm, bTable := b.(map[string]any)
	if aTable && bTable {
		keys := slices.Sorted(maps.Keys(am))
		for k := range bm {
			if _, ok := am[k]; !ok {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		for _, k := range keys {
			x, was := am[k]
			y, is := bm[k]
			switch p := path + "." + k; {
			case !was:
				d.add(p, "", text(y))
			case !is:
				d.add(p, text(x), "")
			default:
				d.value(p, x, y)
			}
		}
		return
	}
	al, aList := a.([]any)
	bl, bList := b.([]any)
	if aList && bList {
		d.list(path, al, bl)
		return
	}
	if !equal(a, b) {
		d.add(path, text(a), text(b))
	}
}

func (d *differ) list(path string, a, b []any) {
	for i := range max(len(a), len(b)) {
		switch p := path + "[" + strconv.Itoa(i) + "]"; {
		case i >= len(a):
			d.add(p, "", text(b[i]))
		case i >= len(b):
			d.add(p, text(a[i]), "")
		default:
			d.value(p, a[i], b[i])
		}
	}
}

// equal reports whether two scalars are equal, comparing numbers by value.
func equal(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, y := text(a), text(b)
	_, as := a.(string)
	_, bs := b.(string)
	return as == bs && x == y
}

// maxText is the largest size of a value in a change, in bytes.
const maxText = 120

// text formats a value of a change.
func text(v any) string {
	if s, ok := v.(string); ok {
		return truncate.Bytes(strconv.Quote(s), maxText, "…")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return truncate.Bytes(fmt.Sprint(v), maxText, "…")
	}
	return truncate.Bytes(strings.TrimSuffix(b.String(), "\n"), maxText, "…")
}

func (d *differ) charts(a, b []chartFiles) {
	before := make(map[string]chartFiles, len(a))
	for _, f := range a {
		before[f.path] = f
	}
	for _, f := range b {
		old := before[f.path]
		d.files(f.path+"/", old.templates, f.templates)
		d.files(f.path+"/", old.files, f.files)
		if old.version != f.version {
			d.add("chart.version", text(old.version), text(f.version))
		}
		if old.appVersion != f.appVersion {
			d.add("chart.appVersion", text(old.appVersion), text(f.appVersion))
		}
		if x, y := text(old.dependencies), text(f.dependencies); x != y {
			d.add(f.path+".dependencies", x, y)
		}
	}
}

func (d *differ) files(prefix string, a, b []*chart.File) {
	old := make(map[string]*chart.File, len(a))
	for _, f := range a {
		old[f.Name] = f
	}
	for _, f := range b {
		was, ok := old[f.Name]
		delete(old, f.Name)
		if !ok {
			d.whole("files: "+prefix+f.Name, nil, present(f.Data))
		} else if was != f && !bytes.Equal(was.Data, f.Data) {
			d.whole("files: "+prefix+f.Name, present(was.Data), present(f.Data))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		d.whole("files: "+prefix+name, present(old[name].Data), nil)
	}
}

// present returns data, which is not nil.
func present(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// object adds the change of a whole object. It has no text of a Secret: traces end up in logs.
func (d *differ) object(from, to *manifest.Object) {
	raw := func(o *manifest.Object) []byte {
		if o == nil {
			return nil
		}
		return []byte(o.Raw)
	}
	o := from
	if o == nil {
		o = to
	}
	d.whole("objects: "+o.String(), raw(from), raw(to))
	if o.Kind == "Secret" {
		last := &d.out[len(d.out)-1]
		last.Before, last.After = "", ""
	}
}

func size(data []byte) string { return fmt.Sprintf("%d bytes", len(data)) }

// objects compares objects by kind, namespace and name.
func (d *differ) objects(a, b []*manifest.Object) {
	type id struct{ kind, namespace, name string }
	old := make(map[id][]*manifest.Object, len(a))
	idOf := func(o *manifest.Object) id { return id{o.Kind, o.Namespace, o.Name} }
	for _, o := range a {
		old[idOf(o)] = append(old[idOf(o)], o)
	}
	for _, o := range b {
		was := old[idOf(o)]
		if len(was) == 0 {
			d.object(nil, o)
			continue
		}
		old[idOf(o)] = was[1:]
		if was[0] == o || was[0].Raw == o.Raw {
			continue
		}
		x, errX := was[0].Map()
		y, errY := o.Map()
		if errX != nil || errY != nil {
			d.object(was[0], o)
			continue
		}
		from := len(d.out)
		d.value("objects."+o.String(), anyMap(x), anyMap(y))
		if o.Kind == "Secret" {
			hide(d.out[from:])
		}
	}
	for _, o := range a {
		if rest := old[idOf(o)]; slices.Contains(rest, o) {
			d.object(o, nil)
		}
	}
}

// hidden replaces a Secret's data in a trace.
const hidden = "(hidden)"

// hide removes a Secret's data from changes, because traces end up in logs.
func hide(changes []Change) {
	for i, c := range changes {
		_, field, _ := strings.Cut(c.Path, "/")
		if !strings.Contains(field, ".data") && !strings.Contains(field, ".stringData") {
			continue
		}
		if c.From != "" {
			changes[i].From = hidden
		}
		if c.To != "" {
			changes[i].To = hidden
		}
	}
}
