// SPDX-License-Identifier: Apache-2.0

package yaml_test

import (
	"fmt"
	"testing"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// The readers have different results, which is why each has a name.
func TestReadings(t *testing.T) {
	const text = "on: 1\nx: 2\n"
	for name, test := range map[string]struct {
		read func([]byte, any) error
		want string
	}{
		"by way of JSON": {yaml.Unmarshal, "map[string]interface {}{\"true\":1, \"x\":2}"},
		"YAML 1.1":       {yaml.UnmarshalV2, "map[interface {}]interface {}{\"x\":2, true:1}"},
		"nodes":          {yaml.UnmarshalV3, "map[string]interface {}{\"on\":1, \"x\":2}"},
	} {
		t.Run(name, func(t *testing.T) {
			var got any
			if err := test.read([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%#v", got); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func ExampleNode() {
	var doc yaml.Node
	if err := yaml.UnmarshalV3([]byte("a: 1\nb: 2 # two\n"), &doc); err != nil {
		fmt.Println(err)
		return
	}
	b := doc.Content[0].Content[2]
	fmt.Println(b.Value, "in line", b.Line)
	// Output: b in line 2
}

func TestToJSONStrictDuplicateKey(t *testing.T) {
	if _, err := yaml.ToJSONStrict([]byte("a: 1\na: 2\n")); err == nil {
		t.Error("got no error for a duplicate key")
	}
}
