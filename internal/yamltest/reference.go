// SPDX-License-Identifier: Apache-2.0

package yamltest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	yamlv2 "go.yaml.in/yaml/v2"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Values reads a values file as Helm 4 does: it merges the documents of the stream in order. The
// result for [Ambiguous] texts is undefined.
func Values(text string) (map[string]any, error) {
	docs, err := Documents(text)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, doc := range docs {
		layer := map[string]any{}
		if err := yaml.Unmarshal([]byte(doc), &layer); err != nil {
			return nil, err
		}
		merge(out, layer)
	}
	return out, nil
}

func merge(out, layer map[string]any) {
	for k, v := range layer {
		table, ok := v.(map[string]any)
		under, also := out[k].(map[string]any)
		if ok && also {
			merge(under, table)
			continue
		}
		out[k] = v
	}
}

// Documents splits a stream as Helm's reader of values does.
func Documents(text string) ([]string, error) {
	r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader([]byte(text))))
	var docs []string
	for {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		docs = append(docs, string(doc))
	}
}

// Object reads a document as Helm reads objects for the API server: as JSON, with integers as
// int64.
func Object(text string) (map[string]any, error) {
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := utiljson.Unmarshal(data, &out); err != nil {
		return nil, err
	}
	return out, nil
}

// Ambiguous reports whether text contains a mapping with keys that convert to the same string, such
// as 1 and "1". The full parser chooses one of the values at random.
func Ambiguous(text string) bool {
	docs, err := Documents(text)
	if err != nil {
		docs = []string{text}
	}
	for _, doc := range docs {
		var v any
		if yamlv2.Unmarshal([]byte(doc), &v) == nil && hasDuplicateKeys(v) {
			return true
		}
	}
	return false
}

func hasDuplicateKeys(v any) bool {
	switch v := v.(type) {
	case map[any]any:
		seen := map[string]bool{}
		for k, e := range v {
			name := keyName(k)
			if seen[name] || hasDuplicateKeys(e) {
				return true
			}
			seen[name] = true
		}
	case []any:
		for _, e := range v {
			if hasDuplicateKeys(e) {
				return true
			}
		}
	}
	return false
}

func keyName(k any) string {
	f, ok := k.(float64)
	if !ok {
		return fmt.Sprint(k)
	}
	switch s := strconv.FormatFloat(f, 'g', -1, 32); s {
	case "+Inf":
		return ".inf"
	case "-Inf":
		return "-.inf"
	case "NaN":
		return ".nan"
	default:
		return s
	}
}

// Index reads the entries of an index as Helm does, which rejects duplicate keys and an index
// without apiVersion.
func Index(text string) (map[string][]any, error) {
	var out struct {
		APIVersion any              `json:"apiVersion"`
		Entries    map[string][]any `json:"entries"`
	}
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, err
	}
	if err = json.Unmarshal(data, &out); err == nil && out.APIVersion == nil {
		err = errors.New("no API version specified")
	}
	return out.Entries, err
}
