// SPDX-License-Identifier: Apache-2.0

package values

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// packed is the form of origins in records of releases. It has no keys, because the
// values are in the record already: a table is a list with an element for each of its keys, in their order, and
// a list that merges is one with an element for each of its items. The element of another value is
//
//   - a number: it is in the file of the value before it, so many lines below that, at first in
//     Sources[0]; of several origins of the value before, the first counts, if it has a line
//   - a string: its origins, "SOURCE:LINE=PATH", with commas between them, SOURCE an index of
//     Sources; a line or path that is not known is left out, and the path is escaped like a
//     query of a URL
//   - null: its origins are not known
type packed struct {
	Sources []packedSource `json:"sources"`
	Config  []any          `json:"config,omitempty"`
	Values  []any          `json:"values,omitempty"`
}

// packedSource is a file, a flag without its expression, or a script.
type packedSource struct {
	File     string `json:"file,omitempty"`
	Flag     string `json:"flag,omitempty"`
	Script   string `json:"script,omitempty"`
	Revision int    `json:"revision,omitempty"`
}

// PackOrigins returns the origins of config, the user's values, and of defaults, in a compact form
// for the record of a release that has both. Flags are without the values that they set, and
// URLs without credentials and queries. The form is documented in docs/formats.md.
func PackOrigins(config map[string]any, ofConfig *Origins, defaults map[string]any,
	ofDefaults *Origins) (json.RawMessage, error) {
	uses := map[packedSource]int{}
	countSources(ofConfig.root, uses)
	countSources(ofDefaults.root, uses)
	sources := slices.SortedFunc(maps.Keys(uses), func(a, b packedSource) int {
		return cmp.Or(uses[b]-uses[a], cmp.Compare(a.File, b.File), cmp.Compare(a.Flag, b.Flag),
			cmp.Compare(a.Script, b.Script), a.Revision-b.Revision)
	})
	p := packer{index: make(map[packedSource]int, len(sources))}
	for i, s := range sources {
		p.index[s] = i
	}
	out := packed{Sources: sources, Config: p.table(config, ofConfig.root, "")}
	p.last = packedPlace{}
	out.Values = p.table(defaults, ofDefaults.root, "")
	return json.Marshal(out)
}

func countSources(vals map[string]any, uses map[packedSource]int) {
	for _, v := range vals {
		countSource(v, uses)
	}
}

func countSource(v any, uses map[packedSource]int) {
	switch v := v.(type) {
	case map[string]any:
		countSources(v, uses)
	case []any:
		for _, item := range v {
			countSource(item, uses)
		}
	case *traced:
		for _, o := range v.origins {
			uses[sourceOf(o)]++
		}
	}
}

// maxSourceName limits the names of files in records, in bytes.
const maxSourceName = 1024

func sourceOf(o Origin) packedSource {
	s := packedSource{File: o.File, Script: o.Script, Revision: o.Revision}
	s.Flag, _, _ = strings.Cut(o.Flag, " ")
	if u, err := url.Parse(s.File); err == nil && u.Host != "" {
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		s.File = u.String()
	}
	if len(s.File) > maxSourceName {
		s.File = s.File[:maxSourceName]
	}
	return s
}

// packedPlace is a place that a number is relative to.
type packedPlace struct{ source, line int }

type packer struct {
	index map[packedSource]int
	last  packedPlace
}

// table packs the origins of vals, which are in from.
func (p *packer) table(vals, from map[string]any, path string) []any {
	out := make([]any, 0, len(vals))
	for _, k := range slices.Sorted(maps.Keys(vals)) {
		out = append(out, p.value(vals[k], from[k], join(path, k)))
	}
	return out
}

// value packs the origins of v, which are in from.
func (p *packer) value(v, from any, path string) any {
	if table, ok := v.(map[string]any); ok {
		under, _ := from.(map[string]any)
		return p.table(table, under, path)
	}
	list, isList := v.([]any)
	if items, ok := from.([]any); ok && isList && len(items) == len(list) {
		out := make([]any, len(list))
		for i := range list {
			out[i] = p.value(list[i], items[i], path)
		}
		return out
	}
	t, ok := from.(*traced)
	if !ok || len(t.origins) == 0 || v == nil {
		return nil
	}
	return p.leaf(t.origins, path)
}

func (p *packer) leaf(origins []Origin, path string) any {
	before, first := p.last, origins[0]
	if first.Line > 0 {
		p.last = packedPlace{p.index[sourceOf(first)], first.Line}
	}
	if len(origins) == 1 && first.Line > 0 && p.last.source == before.source && isSuffix(path, first.Path) {
		return first.Line - before.line
	}
	texts := make([]string, len(origins))
	for i, o := range origins {
		texts[i] = strconv.Itoa(p.index[sourceOf(o)])
		if o.Line > 0 {
			texts[i] += ":" + strconv.Itoa(o.Line)
		}
		if !isSuffix(path, o.Path) {
			texts[i] += "=" + url.QueryEscape(o.Path)
		}
	}
	return strings.Join(texts, ",")
}

// isSuffix reports whether path ends with the keys of last.
func isSuffix(path, last string) bool { return last == "" || strings.HasSuffix("."+path, "."+last) }

// UnpackOrigins returns the origins of config and defaults that a record has in the form of
// [PackOrigins]. Values whose origins it does not have, as it was not written for these values,
// have none. lists are the lists that merge in these values.
func UnpackOrigins(data []byte, config, defaults map[string]any, lists *Lists) (ofConfig, ofDefaults *Origins,
	err error) {
	var p packed
	if len(data) > 0 {
		if err := json.Unmarshal(data, &p); err != nil {
			return nil, nil, fmt.Errorf("read the origins of values: %w", err)
		}
	}
	u := unpacker{sources: p.Sources}
	ofConfig = &Origins{root: u.table(config, p.Config, ""), lists: lists}
	u.last = packedPlace{}
	return ofConfig, &Origins{root: u.table(defaults, p.Values, ""), lists: lists}, nil
}

type unpacker struct {
	sources []packedSource
	last    packedPlace
}

func (u *unpacker) table(vals map[string]any, from []any, path string) map[string]any {
	keys := slices.Sorted(maps.Keys(vals))
	if len(from) != len(keys) {
		from = make([]any, len(keys)) // written for other values
	}
	out := make(map[string]any, len(vals))
	for i, k := range keys {
		out[k] = u.value(vals[k], from[i], join(path, k))
	}
	return out
}

func (u *unpacker) value(v, from any, path string) any {
	packed, _ := from.([]any)
	switch v := v.(type) {
	case nil:
		return nil
	case map[string]any:
		return u.table(v, packed, path)
	case []any:
		if from != nil && len(packed) == len(v) {
			out := make([]any, len(v))
			for i, item := range v {
				out[i] = u.value(item, packed[i], path)
			}
			return out
		}
	}
	return &traced{value: v, origins: u.leaf(from, path)}
}

// maxPacked limits the origins of a value that are read.
const maxPacked = 100

func (u *unpacker) leaf(v any, path string) []Origin {
	switch v := v.(type) {
	case float64:
		u.last.line += int(v)
		if len(u.sources) == 0 {
			return nil
		}
		return []Origin{u.sources[u.last.source].origin(u.last.line, path)}
	case string:
		var out []Origin
		for _, text := range strings.SplitN(v, ",", maxPacked) {
			place, name, named := strings.Cut(text, "=")
			if unescaped, err := url.QueryUnescape(name); named && err == nil {
				name = unescaped
			} else {
				name = path
			}
			index, line, _ := strings.Cut(place, ":")
			at, err := strconv.Atoi(index)
			if err != nil || at < 0 || at >= len(u.sources) {
				continue
			}
			n, _ := strconv.Atoi(line) // 0 if it is left out
			if len(out) == 0 && n > 0 {
				u.last = packedPlace{at, n}
			}
			out = append(out, u.sources[at].origin(n, name))
		}
		return out
	}
	return nil
}

func (s packedSource) origin(line int, path string) Origin {
	o := Origin{Revision: s.Revision, File: s.File, Line: max(line, 0), Script: s.Script, Path: path}
	if s.Flag != "" {
		o.Flag = s.Flag + " " + path
	}
	return o
}
