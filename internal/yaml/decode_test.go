// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"errors"
	"math"
	"reflect"
	"testing"

	v2 "go.yaml.in/yaml/v2"

	"github.com/moonhelm/moonhelm/internal/yamltest"
)

// slow decodes text with the complete parser, with keys as strings.
func slow(text string) (v any, err error) {
	if err := v2.Unmarshal([]byte(text), &v); err != nil {
		return nil, err
	}
	return plain(v)
}

func plain(v any) (any, error) {
	switch v := v.(type) {
	case map[any]any:
		return TextKeys(v, func(_ string, e any) (any, error) { return plain(e) })
	case []any:
		for i, e := range v {
			p, err := plain(e)
			if err != nil {
				return nil, err
			}
			v[i] = p
		}
	case int:
		return int64(v), nil
	case uint64:
		return float64(v), nil
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, errors.New("not a finite number")
		}
	case string:
		return string([]rune(v)), nil // UTF-8, as any string
	}
	return v, nil
}

func TestQuickMatchesParser(t *testing.T) {
	taken := 0
	for _, text := range yamltest.Samples() {
		if compareQuick(t, text) {
			taken++
		}
	}
	if taken < 40 {
		t.Errorf("Quick takes only %d of the samples", taken)
	}
}

// The output of toJson as a value is read without the full parser.
func TestQuickReadsJSON(t *testing.T) {
	text := "metadata: {\"annotations\":{\"v\":\"1\"},\"name\":\"x\",\"finalizers\":[],\"n\":[1,null,true,{\"a\":1.5}]}\n"
	if !compareQuick(t, text) {
		t.Errorf("Quick(%q) leaves it to the full parser", text)
	}
}

// compareQuick reports whether Quick supports the text, and fails the test if its result is
// wrong.
func compareQuick(t *testing.T, text string) bool {
	t.Helper()
	got, ok := Quick(text, nil)
	if !ok {
		return false
	}
	want, err := slow(text)
	if err != nil {
		t.Errorf("%q: Quick takes it, the parser says %v", text, err)
	} else if !reflect.DeepEqual(got, want) {
		t.Errorf("%q:\n got %#v\nwant %#v", text, got, want)
	}
	head, ok := QuickKeys(text, func(key string) bool { return key == "kind" })
	if m, isMap := want.(map[string]any); isMap {
		kind, there := m["kind"]
		if want = map[string]any{}; there {
			want = map[string]any{"kind": kind}
		}
	}
	if !ok || !reflect.DeepEqual(head, want) {
		t.Errorf("%q: the key kind alone:\n got %#v, %v\nwant %#v", text, head, ok, want)
	}
	return true
}

func FuzzQuick(f *testing.F) {
	for _, s := range yamltest.Samples() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { compareQuick(t, text) })
}
