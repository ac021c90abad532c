// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// normalize returns an object as the server reads it: with an empty string for a null in
// labels, data and other maps of strings, 0 for a null quantity, and the stringData of a
// Secret in its data.
func normalize(o map[string]any) map[string]any { return normalizeScanned(o, scan(o)) }

// normalizeScanned is normalize for an object with known special forms.
func normalizeScanned(o map[string]any, forms specialForms) map[string]any {
	kind := o["kind"]
	if forms.nulls {
		o = replaceNulls(o)
	}
	if kind == "Secret" && o["apiVersion"] == "v1" {
		return encodeStringData(o)
	}
	return o
}

// builtIn reports whether an object is of a built-in kind.
func builtIn(o map[string]any) bool {
	kind, _ := o["kind"].(string)
	version, _ := o["apiVersion"].(string)
	_, is := kinds().kinds[version+" "+kind]
	return is
}

// replaceNulls returns o with nulls in maps of plain values replaced by the server's defaults.
func replaceNulls(o map[string]any) map[string]any {
	t := kinds()
	if builtIn(o) {
		kind := o["kind"]
		if filled := t.fillNulls("", o, kind == "Service" || kind == "ReplicationController"); filled != nil {
			return filled
		}
	} else if filled := t.fillLabels(metadata(o)); filled != nil {
		o = maps.Clone(o)
		o["metadata"] = filled
	}
	return o
}

// fillNulls returns a copy of m, which is under name, with nulls in maps of plain values
// replaced by the server's defaults; or nil if there are none. selects is set for the two
// kinds whose selector is such a map.
func (t *table) fillNulls(name string, m map[string]any, selects bool) map[string]any {
	var out map[string]any
	set := func(key string, v any) {
		if out == nil {
			out = maps.Clone(m)
		}
		out[key] = v
	}
	plain := t.plainMaps[name] || selects && name == "selector"
	for key, v := range m {
		switch v := v.(type) {
		case nil:
			if plain && t.quantities[name] {
				set(key, "0")
			} else if plain {
				set(key, "")
			}
		case map[string]any:
			if inner := t.fillNulls(key, v, selects); inner != nil {
				set(key, inner)
			}
		case []any:
			if inner := t.fillItems(v, selects); inner != nil {
				set(key, inner)
			}
		}
	}
	return out
}

func (t *table) fillItems(list []any, selects bool) []any {
	var out []any
	for i, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		if inner := t.fillNulls("", m, selects); inner != nil {
			if out == nil {
				out = slices.Clone(list)
			}
			out[i] = inner
		}
	}
	return out
}

// fillLabels returns a copy of the metadata of a custom resource with empty strings for nulls
// in labels and annotations; or nil if there are none.
func (t *table) fillLabels(meta map[string]any) map[string]any {
	var out map[string]any
	for _, key := range []string{"labels", "annotations"} {
		if m, ok := meta[key].(map[string]any); ok {
			if inner := t.fillNulls(key, m, false); inner != nil {
				if out == nil {
					out = maps.Clone(meta)
				}
				out[key] = inner
			}
		}
	}
	return out
}

func without(m map[string]any, keys ...string) map[string]any {
	out := maps.Clone(m)
	for _, key := range keys {
		delete(out, key)
	}
	return out
}

// encodeStringData returns a Secret with its stringData moved to data, as the server does. It
// returns a Secret with invalid values unchanged: the server returns the error.
func encodeStringData(secret map[string]any) map[string]any {
	text, _ := secret["stringData"].(map[string]any)
	data, isMap := secret["data"].(map[string]any)
	if !isMap && secret["data"] != nil {
		return secret
	}
	out := make(map[string]any, len(data)+len(text))
	folded := false
	for key, v := range data {
		s, _ := v.(string)
		if strings.ContainsAny(s, "\r\n") {
			v, folded = strings.NewReplacer("\r", "", "\n", "").Replace(s), true
		}
		out[key] = v
	}
	if len(text) == 0 && !folded {
		return secret
	}
	for key, v := range text {
		s, isText := v.(string)
		if !isText {
			return secret
		}
		out[key] = base64.StdEncoding.EncodeToString([]byte(s))
	}
	secret = without(secret, "stringData")
	secret["data"] = out
	return secret
}
