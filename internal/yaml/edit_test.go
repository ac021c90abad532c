// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// decodeMap decodes text with the complete parser.
func decodeMap(text string) (map[string]any, error) {
	v, err := slow(text)
	if err != nil || v == nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("not a map")
	}
	return m, nil
}

func edit(raw string, now map[string]any) (string, error) {
	return Edit(raw, now, Rules{Decode: decodeMap})
}

const deployment = `# The web server.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: "web"   # the name
  labels:
    app: web
    # which part it is
    part: 'front'
spec:
  replicas: 1

  # Pods are found by this.
  selector:
    matchLabels: {app: web, part: front}
  template:
    spec:
      containers:
      # the server itself
      - name: web
        image: "nginx:1.25"
        args: ["-g", "daemon off;"]
        resources: {}
      # logs
      - name: logs
        image: busybox
        env:
        - name: A
          value: "1"
        command:
          - sh
          - -c
          - |
            echo one
            echo two
      volumes: null
`

func TestEdit(t *testing.T) {
	type object = map[string]any
	at := func(v any, path ...any) any {
		for _, step := range path {
			switch s := step.(type) {
			case string:
				v = v.(object)[s]
			case int:
				v = v.([]any)[s]
			}
		}
		return v
	}
	containers := []any{"spec", "template", "spec", "containers"}
	for _, c := range []struct {
		name     string
		edit     func(o object)
		old, new string // the expected replacement; the rest is unchanged
	}{
		{"nothing", func(object) {}, "", ""},
		{"a number", func(o object) { at(o, "spec").(object)["replicas"] = int64(3) }, "replicas: 1\n", "replicas: 3\n"},
		{"a whole float", func(o object) { at(o, "spec").(object)["replicas"] = 2.0 }, "replicas: 1\n", "replicas: 2.0\n"},
		{"text that looks like a number", func(o object) { at(o, "metadata", "labels").(object)["app"] = "1e3" }, "app: web\n    #", "app: \"1e3\"\n    #"},
		{"text in double quotes, with a comment", func(o object) { at(o, "metadata").(object)["name"] = "site" }, `"web"   #`, `"site"   #`},
		{"text in single quotes", func(o object) { at(o, "metadata", "labels").(object)["part"] = "it's" }, `'front'`, `'it''s'`},
		{"a key that goes, with its comment", func(o object) { delete(at(o, "metadata", "labels").(object), "part") }, "    # which part it is\n    part: 'front'\n", ""},
		{"a key between empty lines", func(o object) { delete(at(o, "spec").(object), "replicas") }, "  replicas: 1\n", ""},
		{"a new key", func(o object) { at(o, "metadata", "labels").(object)["tier"] = "yes" }, "'front'\n", "'front'\n    tier: \"yes\"\n"},
		{"a new map", func(o object) { at(o, "metadata").(object)["annotations"] = object{"b": "2", "a": "x"} },
			"'front'\n", "'front'\n  annotations:\n    a: x\n    b: \"2\"\n"},
		{"a map in brackets", func(o object) { at(o, "spec", "selector", "matchLabels").(object)["app"] = "a: b" }, "{app: web,", `{app: "a: b",`},
		{"a new key in brackets", func(o object) { at(o, "spec", "selector", "matchLabels").(object)["tier"] = "x" }, "part: front}", "part: front, tier: x}"},
		{"a list in brackets", func(o object) { at(o, append(containers, 0)...).(object)["args"] = []any{"-g", "daemon on;", "-t"} },
			`["-g", "daemon off;"]`, `["-g", "daemon on;", "-t"]`},
		{"an empty map that gets keys", func(o object) {
			at(o, append(containers, 0)...).(object)["resources"] = object{"limits": object{"cpu": int64(1)}}
		}, "resources: {}\n", "resources:\n          limits:\n            cpu: 1\n"},
		{"a null that gets a list", func(o object) {
			at(o, "spec", "template", "spec").(object)["volumes"] = []any{object{"name": "data", "emptyDir": object{}}}
		}, "volumes: null\n", "volumes:\n      - emptyDir: {}\n        name: data\n"},
		{"the first key after a dash", func(o object) { delete(at(o, append(containers, 1, "env", 0)...).(object), "name") },
			"- name: A\n          value", "- value"},
		{"an item that goes, with its comment", func(o object) {
			at(o, "spec", "template", "spec").(object)["containers"] = at(o, containers...).([]any)[1:]
		}, deployment[strings.Index(deployment, "      # the server"):strings.Index(deployment, "      # logs")], ""},
		{"a new item in the middle", func(o object) {
			at(o, "spec", "template", "spec").(object)["containers"] = slices.Insert(at(o, containers...).([]any), 1, any(object{"name": "side", "image": "x"}))
		}, "      # logs\n", "      - image: x\n        name: side\n      # logs\n"},
		{"a namesake", func(o object) {
			list := at(o, containers...).([]any)
			list[1].(object)["image"] = "alpine"
			at(o, "spec", "template", "spec").(object)["containers"] = slices.Insert(list, 0, any(object{"name": "first"}))
		}, "", ""},
		{"a block", func(o object) {
			at(o, append(containers, 1, "command")...).([]any)[2] = "echo three\n"
		}, "- |\n            echo one\n            echo two\n", "- |\n            echo three\n"},
		{"text of lines", func(o object) { at(o, append(containers, 1, "env", 0)...).(object)["value"] = "a\n b" },
			"value: \"1\"\n", "value: |-\n            a\n             b\n"},
		{"a map that becomes a scalar", func(o object) { at(o, "spec").(object)["selector"] = true },
			"selector:\n    matchLabels: {app: web, part: front}\n", "selector: true\n"},
		{"a scalar with a comment that becomes a map", func(o object) { at(o, "metadata").(object)["name"] = object{"a": nil} },
			"\"web\"   # the name\n", "  # the name\n    a: null\n"},
		{"a list that becomes empty", func(o object) { at(o, append(containers, 1)...).(object)["env"] = []any{} },
			"env:\n        - name: A\n          value: \"1\"\n", "env: []\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			now, err := decodeMap(deployment)
			if err != nil {
				t.Fatal(err)
			}
			c.edit(now)
			got, err := edit(deployment, now)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Replace(deployment, c.old, c.new, 1)
			switch c.name {
			case "a key between empty lines":
				want = strings.Replace(deployment, "  replicas: 1\n", "", 1)
			case "a namesake":
				want = strings.Replace(deployment, "      # the server", "      - name: first\n      # the server", 1)
				want = strings.Replace(want, "busybox", "alpine", 1)
			case "a scalar with a comment that becomes a map":
				want = strings.Replace(deployment, "name: \"web\"   # the name\n", "name:   # the name\n    a: null\n", 1)
			}
			if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if back, err := decodeMap(got); err != nil || !reflect.DeepEqual(back, now) {
				t.Errorf("reads back as %v, %v", back, err)
			}
		})
	}
}

func TestEditUnusualForms(t *testing.T) {
	for _, c := range []struct{ raw, key, want string }{
		{"", "a", "a: new\n"},
		{"# nothing\n", "a", "# nothing\na: new\n"},
		{"a: 1", "a", "a: new"},
		{"a: 1\r\nb: 2\r\n", "c", "a: 1\r\nb: 2\r\nc: new\r\n"},
		{"a: &x 1\nb: *x\n", "b", "a: &x 1\nb: new\n"},
		{"a: &x 1\nb: *x\n", "a", "a: new\nb: 1\n"},
		{"x: &x {a: 1}\nb:\n  <<: *x\n  c: 2\n", "d", "x: &x {a: 1}\nb:\n  <<: *x\n  c: 2\nd: new\n"},
		{"---\na: 1\n", "b", "---\na: 1\nb: new\n"},
		{"{\"a\": 1}\n", "b", "{\"a\": 1, \"b\": new}\n"},
		{"{\n  \"a\": 1\n}\n", "a", "{\n  \"a\": new\n}\n"},
		{"? a\n: 1\n", "b", "a: 1\nb: new\n"},
		{"a: |\n  text", "b", "a: |\n  text\nb: new"},
		{"a: !!str 1\nb: 2\n", "b", "a: !!str 1\nb: new\n"},
		{"a: 1\na: 2\nb: 3\n", "a", "a: 1\na: new\nb: 3\n"},
		{"ä: ö # ü\nb: \"ß\" # s\n", "b", "ä: ö # ü\nb: \"new\" # s\n"},
		{"a: one\n  two\nb: x\n", "a", "a: new\nb: x\n"},
		{"a: >-\n  one\n  two\n\nb: x\n", "a", "a: new\n\nb: x\n"},
		{"yes: 1\n", "true", "yes: new\n"},
		{"a:\n  # deep\n  b: 1\n  # c: 2\n# next\nd: 1\n", "a", "a: new\n# next\nd: 1\n"},
	} {
		t.Run(c.raw, func(t *testing.T) {
			now, err := decodeMap(c.raw + "\n")
			if err != nil {
				t.Fatal(err)
			}
			if now == nil {
				now = map[string]any{}
			}
			now[c.key] = "new"
			if got, err := edit(c.raw, now); err != nil || got != c.want {
				t.Errorf("%q became %q, %v, want %q", c.raw, got, err, c.want)
			}
		})
	}
}

func TestEncode(t *testing.T) {
	got, err := Encode(map[string]any{
		"status": map[string]any{}, "kind": "ConfigMap", "apiVersion": "v1",
		"metadata": map[string]any{"labels": map[string]any{"b": "2", "a": "no"}, "name": "x"},
		"data": map[string]any{
			"script": "one\n  two\n", "bare": "one\ntwo", "odd": "  one\n\ttwo\n\n", "date": "2024-01-01",
			"octal": "0777", "null": "null", "space": " x ", "colon": "a: b", "url": "http://x:80/#y", "ip": "10.0.0.1", "sizes": "100m",
			"empty": "", "tab": "a\tb", "time": "12:30", "hash": "a #b", "dash": "-x", "version": "1.2.3",
		},
		"list":   []any{int64(8080), 2.0, 0.5, 1e300, nil, true, []any{"a", []any{}}, map[string]any{"b": int64(9007199254740993), "a": []any{"x"}}},
		"items":  []any{map[string]any{"text": "a\nb\n"}},
		"uint":   uint32(7),
		"longer": 12345678.0,
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: v1
kind: ConfigMap
metadata:
  name: x
  labels:
    a: "no"
    b: "2"
data:
  bare: |-
    one
    two
  colon: "a: b"
  dash: -x
  date: "2024-01-01"
  empty: ""
  hash: "a #b"
  ip: 10.0.0.1
  "null": "null"
  octal: "0777"
  odd: "  one\n\ttwo\n\n"
  script: |
    one
      two
  sizes: 100m
  space: " x "
  tab: "a\tb"
  time: "12:30"
  url: http://x:80/#y
  version: 1.2.3
items:
- text: |
    a
    b
list:
- 8080
- 2.0
- 0.5
- 1.0e+300
- null
- true
- - a
  - []
- a:
  - x
  b: 9007199254740993
longer: 12345678.0
status: {}
uint: 7
`
	if got != want {
		t.Errorf("got:\n%s", got)
	}
	for name, bad := range map[string]any{"a channel": make(chan int), "no UTF-8": "\xff"} {
		t.Run(name, func(t *testing.T) {
			if _, err := Encode(map[string]any{"a": []any{bad}}); err == nil || !strings.Contains(err.Error(), "a: [0]") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// mutator makes random changes to a document.
type mutator struct {
	*rand.Rand
	words []string
}

func (m mutator) scalar() any {
	switch m.IntN(12) {
	case 0:
		return nil
	case 1:
		return m.IntN(2) == 0
	case 2:
		return int64(m.Uint64())
	case 3:
		return int64(m.IntN(100))
	case 4:
		return float64(m.IntN(10))
	case 5:
		return m.NormFloat64() * 1e3
	}
	s := m.words[m.IntN(len(m.words))]
	if m.IntN(3) == 0 {
		s += m.words[m.IntN(len(m.words))]
	}
	return s
}

func (m mutator) value(depth int) any {
	switch m.IntN(5 + depth) {
	case 0:
		out := map[string]any{}
		for range m.IntN(4) {
			out[m.words[m.IntN(len(m.words))]] = m.value(depth + 1)
		}
		return out
	case 1:
		out := []any{}
		for range m.IntN(4) {
			out = append(out, m.value(depth+1))
		}
		return out
	}
	return m.scalar()
}

func (m mutator) mutate(v any) any {
	if m.IntN(12) == 0 {
		return m.value(0)
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			switch m.IntN(10) {
			case 0:
			case 1, 2:
				out[k] = m.mutate(e)
			default:
				out[k] = e
			}
		}
		if m.IntN(4) == 0 {
			out[m.words[m.IntN(len(m.words))]] = m.value(0)
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			switch m.IntN(8) {
			case 0:
			case 1:
				out = append(out, m.mutate(e))
			case 2:
				out = append(out, m.value(0), e)
			default:
				out = append(out, e)
			}
		}
		return out
	}
	return m.scalar()
}

func newMutator(seed uint64, more ...string) mutator {
	return mutator{rand.New(rand.NewPCG(seed, 1)), append([]string{
		"", "a", "b", "name", "yes", "no", "1e3", "0777", "0x1F", "2024-01-01", "null", "~", " a", "a ", "a\n", "a\nb\n", "\n", "\n\n", "  a\n b\n",
		"\ta\nb", "a: b", "a #b", "#a", "- a", "-a", "--- a", "...", "{", "[a]", "*a", "&a", "!a", "|", ">", "'", "\"", "%", "@", "`", "a:", ":a", "?", "? a",
		"<<", "=", ".5", "1.", "1_000", "12:30:45", "+1", "-1", "0o7", "0b1", ".inf", ".nan", "\r", "a\r\nb", "ä", "\u0085", "\u2028", "\ufeff", "\x00", "\U0001F600",
		"a,b", "a]b", "true", "on", "a\n\n\nb\n\n", "   ", "a\n   \nb", "a\n   ", "\\", "a\\nb", strings.Repeat("k", 1100),
	}, more...)}
}

func FuzzEdit(f *testing.F) {
	f.Add(deployment, uint64(1), "x")
	for i, s := range []string{
		"", "a: 1", "# c\n", "a: [1, {b: c}]\nd: {e: 'f', g: \"h\"}\n", "- 1\n", "a:\n- - b\n  - c\n- d: |\n    x\n   # c\n  e: >+\n    y\n\n",
		"a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n", "---\na: b\n", "a: \"x\\\"y\"\r\nb: 'c''d'\r\n", "? a\n: b\n", "{\"a\": {\"b\": [1, 2]}}",
		"a:\n  - b: 1\n    # c\n    c: 2\n\n  # d\n  - x\n", "a: !!binary aGk=\nb: one\n  two # c\n", "1: a\ntrue: b\n0x10: c\n",
	} {
		f.Add(s, uint64(i), "y\nz")
	}
	f.Fuzz(func(t *testing.T, raw string, seed uint64, word string) {
		text := raw
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		old, err := decodeMap(text)
		if err != nil {
			return
		}
		if strings.ToValidUTF8(word, "") != word {
			return
		}
		now := newMutator(seed, word).mutate(any(old))
		goal, ok := now.(map[string]any)
		if !ok {
			return
		}
		if normalized, err := normalize(goal, false); err != nil || !sameValue(normalized, goal, false) {
			return // !!binary may contain invalid UTF-8
		}
		got, err := edit(raw, goal)
		if err != nil {
			t.Fatalf("edit %q to %v: %v", raw, goal, err)
		}
		if !strings.HasSuffix(got, "\n") {
			got += "\n"
		}
		if back, err := decodeMap(got); err != nil || !sameValue(orEmpty(back), goal, false) {
			t.Fatalf("%q became %q: %v, %v, want %v", raw, got, back, err, goal)
		}
	})
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func FuzzEncode(f *testing.F) {
	for i := range uint64(20) {
		f.Add(i, "x")
	}
	f.Fuzz(func(t *testing.T, seed uint64, word string) {
		if strings.ToValidUTF8(word, "") != word {
			return
		}
		m := newMutator(seed, word, word+"\n", " "+word, word+"\n"+word)
		goal := map[string]any{}
		for range 5 {
			goal[m.words[m.IntN(len(m.words))]] = m.value(0)
		}
		text, err := Encode(goal)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decodeMap(text); err != nil || !sameValue(orEmpty(back), goal, false) {
			t.Fatalf("%#v became\n%s\n%v\n%v", goal, text, back, err)
		}
	})
}
