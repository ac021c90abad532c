// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"reflect"
	"testing"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// slow decodes a document with the complete parser.
func slow(text string) (any, error) {
	var v any
	err := yaml.UnmarshalV3([]byte(text), &v)
	return plain(v), err
}

func TestDecode(t *testing.T) {
	for _, text := range []string{
		"a: yes\nb: no\nc: [on, off]\nd: {y: n}\n", "y: 1\non: 2\n", "- yes\n- no",
		"a: 0777\nb: 1_000\nc: 0o17\nd: 0x1F\ne: +5",
		"a: 2001-01-01\nb: 2001-01-01T00:00:00Z\n", "a: 12:30:45\nb: 1:20\n",
		"a: 123456789012345678901234567890\nb: 1e3\nc: .5\nd: 5.\n",
		"a: 8080\nb: -5\nc: 1.0\nd: 1.5e3\ne: 9223372036854775807\nf: 18446744073709551615\n", "a: null\nb: ~\nc:\nd: \"\"\n",
		"description: say yes or no\nb: on the way\n", "a: 10.0.0.1\nb: 1.2.3\nc: 10m\nd: 64Mi\n",
		"a: 4b8a256891a07c7853fe3b7241320d884d4099212b319b4a079adf2f75a5c79e\nb: 0x4b8a\nc: 0Xff\nd: 1e5\ne: 0b11\nf: 12345e3\n",
		"yes", "8080", "a: 'yes'\nb: \"no\"\n",
		"a: true\nb: False\nc: TRUE\n", "1: a\n2.5: b\ntrue: c\n", "a: -.5\nb: -0\nc: 0.0\nd: -00\n", "a: .inf\nb: .nan\n",
		"a: |\n  yes\n  no\nb: >\n  x\n", "a: 0\nb: 00\nc: 0.5\nd: 08\n", "a: 685230.15\nb: 6.8523015e+5\n",
	} {
		t.Run(text, func(t *testing.T) {
			got, err := decode(text)
			want, slowErr := slow(text)
			if (err == nil) != (slowErr == nil) || !reflect.DeepEqual(got, want) && !isNaN(want) {
				t.Errorf("got %#v, %v\nwant %#v, %v", got, err, want, slowErr)
			}
		})
	}
}

func isNaN(v any) bool {
	m, _ := v.(map[string]any)
	f, ok := m["b"].(float64)
	return ok && f != f
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"a: yes", "y: 1", "a: 0777", "- 1_0", "a: 2001-01-01", "{a: [on, 5]}",
		"a: +5\nb: -1", "a: 1:20"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := decode(text)
		if err != nil {
			return
		}
		want, err := slow(text)
		if err != nil {
			return // the quick reader accepts duplicate keys, as Helm does
		}
		if !reflect.DeepEqual(got, want) && !isNaN(want) {
			t.Errorf("%q: got %#v, want %#v", text, got, want)
		}
	})
}
