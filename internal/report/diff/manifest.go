// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/base64"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// sourceComment begins the line that says which template an object comes from.
const sourceComment = "# Source: "

// raw reports whether the object is compared as it was rendered. A Secret is not where
// its values are hidden or decoded.
func (o Options) raw(d Diff, object Object) bool {
	whole := object.Kind != "Secret" || o.ShowSecrets && !o.DecodeSecrets
	return d.Stored && !o.Normalize && whole &&
		(object.Before == nil || object.Was != nil) && (object.After == nil || object.Is != nil)
}

// textDiffers reports whether an object that stays the same was rendered otherwise.
func (o Options) textDiffers(d Diff, object Object) bool {
	if !o.raw(d, object) || object.Was == nil || object.Is == nil {
		return false
	}
	o.SuppressLines = nil // what is not shown is a change all the same
	before, after := o.lines(d, object)
	return strings.Join(before, "\n") != strings.Join(after, "\n")
}

// lines are those of the object before and after, as they are compared.
func (o Options) lines(d Diff, object Object) (before, after []string) {
	if o.raw(d, object) {
		return o.shown(rendered(object.Was)), o.shown(rendered(object.Is))
	}
	was, is := o.seen(object)
	return o.shown(normalized(was, object.Source)), o.shown(normalized(is, object.Source))
}

// rendered are the lines of an object as it was rendered.
func rendered(o *manifest.Object) []string {
	if o == nil {
		return nil
	}
	text := strings.Trim(o.Raw, "\n")
	if o.Source != "" {
		text = sourceComment + o.Source + "\n" + text
	}
	return split(text)
}

// normalized are the lines of an object's canonical text.
func normalized(object map[string]any, source string) []string {
	text := plan.FormatObject(object)
	if text != "" && source != "" {
		text = sourceComment + source + "\n" + text
	}
	return split(text)
}

// shown are the lines that take part in the comparison.
func (o Options) shown(lines []string) []string {
	if !o.StripCR && len(o.SuppressLines) == 0 {
		return lines
	}
	out := make([]string, 0, len(lines))
next:
	for _, l := range lines {
		if o.StripCR {
			l = strings.TrimSuffix(l, "\r")
		}
		for _, re := range o.SuppressLines {
			if re.MatchString(l) {
				continue next
			}
		}
		out = append(out, l)
	}
	return out
}

// split are the lines of a text without their ends.
func split(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// hides reports whether the object's values are not for showing.
func (o Options) hides(object Object) bool {
	return object.Kind == "Secret" && !o.ShowSecrets && !o.DecodeSecrets
}

// seen is the object before and after, as it may be shown.
func (o Options) seen(object Object) (before, after map[string]any) {
	before, after = named(object.Before, object.Ref), named(object.After, object.Ref)
	switch {
	case o.hides(object):
		return plan.Redact(before, after)
	case object.Kind == "Secret" && o.DecodeSecrets:
		return decoded(before), decoded(after)
	}
	return before, after
}

// decoded is a Secret with those of its values that are text decoded.
func decoded(secret map[string]any) map[string]any {
	data, ok := secret["data"].(map[string]any)
	if !ok {
		return secret
	}
	data = maps.Clone(data)
	for key, v := range data {
		text, _ := v.(string)
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil && utf8.Valid(raw) {
			data[key] = string(raw)
		}
	}
	secret = maps.Clone(secret)
	secret["data"] = data
	return secret
}

// named is an object with its kind: a cluster leaves it out of what it lists,
// and a Secret must be known for one.
func named(object map[string]any, r plan.Ref) map[string]any {
	if object == nil || object["kind"] == r.Kind && object["apiVersion"] != nil {
		return object
	}
	object = maps.Clone(object)
	object["kind"] = r.Kind
	if object["apiVersion"] == nil {
		object["apiVersion"] = r.APIVersion
	}
	return object
}

// serverKeys are what only the server writes of an object's metadata.
func serverKeys() []string {
	return []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"}
}

// bare is an object without what only the server writes.
func bare(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	out := maps.Clone(object)
	delete(out, "status")
	if meta, ok := out["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		for _, key := range serverKeys() {
			delete(meta, key)
		}
		out["metadata"] = meta
	}
	return out
}
