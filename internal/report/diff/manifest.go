// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// sourceComment begins the line that names an object's template.
const sourceComment = "# Source: "

// comparesText reports whether the object is compared as rendered text. A Secret is not if its
// values are redacted or decoded.
func (o Options) comparesText(d Diff, object Object) bool {
	whole := object.Kind != "Secret" || o.ShowSecrets && !o.DecodeSecrets
	return d.Stored && !o.Normalize && whole &&
		(object.Before == nil || object.RenderedBefore != nil) && (object.After == nil || object.RenderedAfter != nil)
}

// textDiffers reports whether the rendered text of an unchanged object differs.
func (o Options) textDiffers(d Diff, object Object) bool {
	return o.comparesText(d, object) && object.RenderedBefore != nil && object.RenderedAfter != nil &&
		o.linesDiffer(d, object)
}

// linesDiffer reports whether the lines of the object before and after differ.
func (o Options) linesDiffer(d Diff, object Object) bool {
	o.SuppressLines = nil // suppressed lines count as changes
	before, after := o.lines(d, object)
	return !slices.Equal(d.names.lines(before, after))
}

// lines returns the lines of the object before and after that are compared.
func (o Options) lines(d Diff, object Object) (before, after []string) {
	if o.comparesText(d, object) {
		return o.filterLines(renderedLines(object.RenderedBefore)), o.filterLines(renderedLines(object.RenderedAfter))
	}
	was, is := o.printable(object)
	return o.filterLines(normalizedLines(was, object.Source)), o.filterLines(normalizedLines(is, object.Source))
}

// renderedLines returns the lines of a rendered object.
func renderedLines(o *manifest.Object) []string {
	if o == nil {
		return nil
	}
	text := strings.Trim(o.Raw, "\n")
	if o.Source != "" {
		text = sourceComment + o.Source + "\n" + text
	}
	return splitLines(text)
}

// normalizedLines returns the lines of an object in canonical YAML.
func normalizedLines(object map[string]any, source string) []string {
	text := plan.FormatObject(object)
	if text != "" && source != "" {
		text = sourceComment + source + "\n" + text
	}
	return splitLines(text)
}

// filterLines removes what o suppresses from lines.
func (o Options) filterLines(lines []string) []string {
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

// splitLines splits text into lines, without a final empty one.
func splitLines(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// hidesValues reports whether the object's values must not be printed.
func (o Options) hidesValues(object Object) bool {
	return object.Kind == "Secret" && !o.ShowSecrets && !o.DecodeSecrets
}

// printable returns the object before and after, redacted or decoded according to o.
func (o Options) printable(object Object) (before, after map[string]any) {
	before, after = withKind(object.Before, object.Ref), withKind(object.After, object.Ref)
	switch {
	case o.hidesValues(object):
		return plan.Redact(before, after)
	case object.Kind == "Secret" && o.DecodeSecrets:
		return decodeSecret(before), decodeSecret(after)
	}
	return before, after
}

// decodeSecret returns a Secret with its textual values decoded.
func decodeSecret(secret map[string]any) map[string]any {
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

// withKind returns an object with its kind and apiVersion, which are missing in items of a list
// from the API server. Secrets are recognised by kind.
func withKind(object map[string]any, r plan.Ref) map[string]any {
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

// serverKeys returns the keys of metadata that only the server sets.
func serverKeys() []string {
	return []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"}
}

// withoutServerFields returns an object without the fields that only the server sets.
func withoutServerFields(object map[string]any) map[string]any {
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
