// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/moonhelm/moonhelm/manifest"
)

// FormatObject returns an object as YAML for people to compare: equal objects give equal text. It
// leaves out status, nulls and the metadata that only the server writes. It is "" for nil,
// and indented JSON for an object that YAML cannot hold.
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
		// JSON shows what YAML has no words for, such as text that is not UTF-8.
		raw, _ := json.MarshalIndent(shown, "", "  ")
		text = string(raw) + "\n"
	}
	return text
}

// lastApplied is where kubectl keeps a whole object as text.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Redact returns what may be shown of an object before and after a change, either of
// which may be nil. Where one is a Secret, each value is replaced by its length, as
// helm-diff does: "REDACTED # (8 bytes)" where both are equal, "-------- # (8 bytes)" and
// "++++++++ # (9 bytes)" where they differ. Other kinds are returned as they are.
func Redact(before, after map[string]any) (b, a map[string]any) {
	if !isSecret(before) && !isSecret(after) {
		return before, after
	}
	before, after = normalize(before), normalize(after)
	return redacted(before, after, "--------"), redacted(after, before, "++++++++")
}

func isSecret(object map[string]any) bool { return object["kind"] == "Secret" }

// redacted is a Secret without its values; sign stands for those that are not the
// other's.
func redacted(secret, other map[string]any, sign string) map[string]any {
	if secret == nil {
		return nil
	}
	out := maps.Clone(secret)
	for _, field := range []string{"data", "stringData"} {
		switch v := secret[field].(type) {
		case nil:
		case map[string]any:
			has, _ := other[field].(map[string]any)
			out[field] = redactedValues(v, has, sign, field == "data")
		default: // no Secret that a server would take, and still none to show
			out[field] = "REDACTED"
		}
	}
	if meta := metadata(secret); annotation(secret, lastApplied) != "" {
		meta = maps.Clone(meta)
		notes := maps.Clone(meta["annotations"].(map[string]any))
		notes[lastApplied] = "REDACTED"
		meta["annotations"], out["metadata"] = notes, meta
	}
	return out
}

func redactedValues(values, other map[string]any, sign string, encoded bool) map[string]any {
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
