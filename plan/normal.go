// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/base64"
	"maps"
	"strconv"
	"strings"
)

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// normal is an object as the server keeps it: the text of a Secret among its
// data.
func normal(o map[string]any) map[string]any {
	if o["kind"] == "Secret" && o["apiVersion"] == "v1" {
		return encoded(o)
	}
	return o
}

func without(m map[string]any, keys ...string) map[string]any {
	out := maps.Clone(m)
	for _, key := range keys {
		delete(out, key)
	}
	return out
}

// encoded is a Secret with its stringData put into data, as the server does.
// One whose values are no text stays as it is: the server says what is wrong.
func encoded(secret map[string]any) map[string]any {
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
		switch v := v.(type) {
		case string:
			out[key] = base64.StdEncoding.EncodeToString([]byte(v))
		case nil:
			out[key] = ""
		default:
			return secret
		}
	}
	secret = without(secret, "stringData")
	secret["data"] = out
	return secret
}
