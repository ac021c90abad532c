// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/moonhelm/moonhelm/manifest"
)

// FormatObject returns an object as YAML for comparison by users: equal objects give equal
// text. It omits status, nulls and the metadata that only the server sets. It returns "" for
// nil, and indented JSON for an object that cannot be written as YAML.
func FormatObject(object map[string]any) string {
	if object == nil {
		return ""
	}
	m := merger{table: kinds(), builtIn: true}
	shown := m.clean(without(object, "status")).(map[string]any)
	if meta, ok := shown["metadata"].(map[string]any); ok {
		shown["metadata"] = without(meta, "managedFields", "uid", "resourceVersion", "generation", "creationTimestamp",
			"selfLink")
	}
	text, err := manifest.Encode(shown)
	if err != nil {
		// JSON can show values that YAML cannot, such as text that is not UTF-8.
		raw, _ := json.MarshalIndent(shown, "", "  ")
		text = string(raw) + "\n"
	}
	return text
}

// lastApplied is the annotation in which kubectl stores the whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Redact returns an object before and after a change for output, either of which may be nil.
// In Secrets it replaces each value by its length, as helm-diff does: "REDACTED # (8 bytes)"
// if both values are equal, "-------- # (8 bytes)" and "++++++++ # (9 bytes)" if they differ.
// It does not change objects of other kinds.
func Redact(before, after map[string]any) (b, a map[string]any) {
	if !isSecret(before) && !isSecret(after) {
		return before, after
	}
	before, after = normalize(before), normalize(after)
	return redactSecret(before, after, "--------"), redactSecret(after, before, "++++++++")
}

func isSecret(object map[string]any) bool { return object["kind"] == "Secret" }

// redactSecret returns a Secret without its values; sign replaces those that differ from the
// other Secret's.
func redactSecret(secret, other map[string]any, sign string) map[string]any {
	if secret == nil {
		return nil
	}
	out := maps.Clone(secret)
	for _, field := range []string{"data", "stringData"} {
		switch v := secret[field].(type) {
		case nil:
		case map[string]any:
			has, _ := other[field].(map[string]any)
			out[field] = redactValues(v, has, sign, field == "data")
		default: // invalid, but still not to be shown
			out[field] = "REDACTED"
		}
	}
	if meta := metadata(secret); annotation(secret, lastApplied) != "" {
		meta = maps.Clone(meta)
		annotations := maps.Clone(meta["annotations"].(map[string]any))
		annotations[lastApplied] = "REDACTED"
		meta["annotations"], out["metadata"] = annotations, meta
	}
	return out
}

func redactValues(values, other map[string]any, sign string, encoded bool) map[string]any {
	out := make(map[string]any, len(values))
	for key, v := range values {
		text := fmt.Sprint(v)
		n := len(text)
		if raw, err := base64.StdEncoding.DecodeString(text); encoded && err == nil {
			n = len(raw)
		}
		shown := sign
		if same, has := other[key]; has && fmt.Sprint(same) == text {
			shown = "REDACTED"
		}
		out[key] = fmt.Sprintf("%s # (%d bytes)", shown, n)
	}
	return out
}
