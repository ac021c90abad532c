// SPDX-License-Identifier: Apache-2.0

package values

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":                      {"", `{}`},
		"comments only":                {"# a\n\n# b\n", `{}`},
		"every number is a float":      {"a: 1\nb: 1.5\nc: 1e3\nd: 12345678901234567890\n", `{"a":float64(1),"b":float64(1.5),"c":float64(1000),"d":float64(1.2345678901234567e+19),}`},
		"octal, hex and underscores":   {"a: 0777\nb: 0o17\nc: 0x1F\nd: 1_000\ne: 08\n", `{"a":float64(511),"b":float64(15),"c":float64(31),"d":float64(1000),"e":float64(8),}`},
		"booleans of YAML 1.1":         {"a: yes\nb: Off\nc: y\nd: 'no'\n", `{"a":bool(true),"b":bool(false),"c":bool(true),"d":"no",}`},
		"dates are text":               {"a: 2001-12-14\nb: 2001-12-14T21:59:43Z\nc: !!timestamp 2001-12-14\n", `{"a":"2001-12-14","b":"2001-12-14T21:59:43Z","c":"2001-12-14",}`},
		"nulls stay":                   {"a:\nb: ~\nc: null\n", `{"a":nil,"b":nil,"c":nil,}`},
		"keys become text":             {"80: a\ntrue: b\n1.5: c\nno: d\n", `{"1.5":"c","80":"a","false":"d","true":"b",}`},
		"text wins over its like":      {"1: a\n\"1\": b\n", `{"1":"b",}`},
		"a whole number over another":  {"{+0e2: 1, 0b0: 9}\n", `{"0":float64(9),}`},
		"the last line ends":           {"a: |\n  x\n  y", `{"a":"x\ny\n",}`},
		"the last line ends, CRLF":     {"a: |\r\n  x\r\n  y", `{"a":"x\ny\n",}`},
		"a kept end is as it stands":   {"a: |+\n  x\n\n", `{"a":"x\n\n",}`},
		"a last line without its end":  {"a: |-\n  x", `{"a":"x",}`},
		"the last of equal keys wins":  {"a: 1\na: 2\n", `{"a":float64(2),}`},
		"merge keys":                   {"b: &b {x: 1, z: 2}\nm:\n  <<: *b\n  z: 3\n", `{"b":{"x":float64(1),"z":float64(2),},"m":{"x":float64(1),"z":float64(3),},}`},
		"JSON":                         {`{"a": {"b": [1, null, "x\u00e9\/"]}}`, `{"a":{"b":[float64(1),nil,"xé/",],},}`},
		"documents are laid over":      {"a: {b: 1, c: 1}\n---\na: {b: null, d: 2}\n", `{"a":{"b":nil,"c":float64(1),"d":float64(2),},}`},
		"a document begins on dashes":  {"--- {a: 1}\n", `{"a":float64(1),}`},
		"windows and a mark of order":  {"\ufeffa: 1\r\nb: 2\r\n", `{"a":float64(1),"b":float64(2),}`},
		"a directive":                  {"%YAML 1.1\n---\na: 1\n", `{"a":float64(1),}`},
		"binary that is not text":      {"a: !!binary /////w==\n", `{"a":"` + strings.Repeat("�", 4) + `",}`},
		"blocks":                       {"a: |\n  x\n  y\nb: >-\n  x\n  y\n", `{"a":"x\ny\n","b":"x y",}`},
		"what looks like dashes later": {"a: |\n  ---\n  x\n", `{"a":"---\nx\n",}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse("values.yaml", []byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if dump(got) != tc.want {
				t.Errorf("got  %s\nwant %s", dump(got), tc.want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"- a\n":                        "failed to parse my.yaml: line 1: is a list, must be keys and values (key: value)",
		"just text\n":                  "failed to parse my.yaml: line 1: is a string, must be keys and values (key: value)",
		"a: 1\nb:\n\tc: 2\n":           "failed to parse my.yaml: error converting YAML to JSON: yaml: line 3: found character that cannot start any token",
		"a: x: y\n":                    "failed to parse my.yaml: error converting YAML to JSON: yaml: line 1: mapping values are not allowed in this context",
		"a: 1\n---\nb: 1\nc: d: e\n":   "failed to parse my.yaml: error converting YAML to JSON: yaml: line 4: mapping values are not allowed in this context",
		"a: 1\n---\n- x\n":             "failed to parse my.yaml: line 2: is a list, must be keys and values (key: value)",
		"a:\n  b: [{c: .nan}]\n":       "failed to parse my.yaml: a.b[0].c: is NaN, must be a finite number",
		"a:\n  null: b\n":              "failed to parse my.yaml: a: the key <nil> is null, must be a string, a number or a boolean",
		"a: *nope\n":                   "failed to parse my.yaml: error converting YAML to JSON: yaml: unknown anchor 'nope' referenced",
		"a: &x {b: *x}\n":              "failed to parse my.yaml: error converting YAML to JSON: yaml: anchor 'x' value contains itself",
		"a: \x00\n":                    "failed to parse my.yaml: error converting YAML to JSON: yaml: control characters are not allowed",
		"{\"a\": 1\n":                  "failed to parse my.yaml: error converting YAML to JSON: yaml: line 1: did not find expected ',' or '}'",
		"a: " + strings.Repeat("[", 9): "failed to parse my.yaml: error converting YAML to JSON: yaml: line 1: did not find expected node content",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := Parse("my.yaml", []byte(text))
			var bad *ParseError
			if !errors.As(err, &bad) || err.Error() != want {
				t.Errorf("%q\ngot  %v\nwant %s", text, err, want)
			}
		})
	}
}

func TestParseUntrusted(t *testing.T) {
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	for name, text := range map[string]string{
		"billion laughs": laughs,
		"deep lists":     "a: " + strings.Repeat("[", 200000),
		"deep maps":      "a: " + strings.Repeat("{a: ", 100000),
		"deep block":     strings.Repeat("- ", 100000),
		"deep and whole": "a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		"many anchors":   strings.Repeat("- &a b\n", 100000),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			if _, err := Parse("values.yaml", []byte(text)); err == nil {
				t.Error("no error")
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}
