// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/peertest"
)

// The tests of this file compare the values of templates with those of Helm. MOONHELM_PEER is
// Helm's binary; MOONHELM_PEER_ROUNDS is the number of random cases.

func peer(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("MOONHELM_PEER")
	if bin == "" {
		t.Skip("MOONHELM_PEER does not name a helm binary to compare with")
	}
	return bin
}

func rounds(def int) int {
	if n, err := strconv.Atoi(os.Getenv("MOONHELM_PEER_ROUNDS")); err == nil {
		return n
	}
	return def
}

const dumpTemplate = `
{{- define "dump" -}}
{{- $k := kindOf . -}}
{{- if eq $k "map" -}}{ {{- range $key, $v := . }}{{ printf "%q" $key }}:{{ include "dump" $v }},{{ end -}} }
{{- else if eq $k "slice" -}}[ {{- range . }}{{ include "dump" . }},{{ end -}} ]
{{- else if eq $k "string" -}}{{ printf "%q" . }}
{{- else if eq $k "invalid" -}}nil
{{- else -}}{{ printf "%s(%v)" $k . }}
{{- end -}}
{{- end -}}
`

// dump returns a value in the format of dumpTemplate.
func dump(v any) string {
	switch v := v.(type) {
	case Long:
		return dump(float64(v))
	case Real:
		return dump(float64(v))
	case nil:
		return "nil"
	case string:
		return fmt.Sprintf("%q", v)
	case map[string]any:
		var b strings.Builder
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			fmt.Fprintf(&b, "%q:%s,", k, dump(v[k]))
		}
		return b.String() + "}"
	case []any:
		var b strings.Builder
		b.WriteByte('[')
		for _, e := range v {
			b.WriteString(dump(e) + ",")
		}
		return b.String() + "]"
	}
	return fmt.Sprintf("%T(%v)", v, v)
}

// peerDump returns the values that templates of a chart without defaults have in Helm.
func peerDump(bin, dir string, args ...string) (string, error) {
	c := peertest.Command{Bin: bin, Args: append([]string{"template", "r", dir}, args...), Dir: dir}
	for _, arg := range args {
		if filepath.IsAbs(arg) {
			c.Reads = append(c.Reads, arg)
		}
	}
	answer, err := c.Run()
	if err == nil && answer.Code != 0 {
		err = fmt.Errorf("exit status %d: %s", answer.Code, answer.Stderr)
	}
	return answer.Stdout, err
}

func dumpChart(t *testing.T) string {
	dir := t.TempDir()
	filetest.WriteFile(t, filepath.Join(dir, "Chart.yaml"), "apiVersion: v2\nname: p\nversion: 0.1.0\n")
	filetest.WriteFile(t, filepath.Join(dir, "templates/_dump.tpl"), dumpTemplate)
	filetest.WriteFile(t, filepath.Join(dir, "templates/v.yaml"), "d: |-\n  <<{{ include \"dump\" .Values }}>>\n")
	filetest.WriteFile(t, filepath.Join(dir, "f1"), "file one")
	filetest.WriteFile(t, filepath.Join(dir, "b"), "file b")
	return dir
}

func between(s string) string {
	_, s, _ = strings.Cut(s, "<<")
	i := strings.LastIndex(s, ">>")
	if i < 0 {
		return s
	}
	return s[:i]
}

var oddExpressions = []string{
	"", ",", "=", "a", "a=", "a=b", "=b", "a=b,", ",a=b", "a=b,,c=d", "a=b,c", "a,b", "a,b=c", "a=,b=", "a==b", "a=b=c",
	"a.b=c", "a.=c", ".a=c", "a..b=c", "a.b", "a.", ".", "a.b.=", "a.b=1,a.c=2", "a=1,a.b=2", "a.b=1,a=2",
	"a[0]=x", "a[1]=x", "a[0]", "a[0].b=x", "a[0].b", "a[0][1]=x", "a[0][1].b=x", "a[]=x", "a[x]=1", "a[-1]=x", "a[0=1", "a[", "a]", "a]=1",
	"a[0]b=1", "a[0],b=1", "a[0]=1,a[1]=2", "a[0].b=1,a[0].c=2", "a[0]=1,a[0].b=2", "a[0].b=1,a[0]=2", "a[00]=1", "a[ 0]=1", "a[+1]=1", "a[1e1]=1", "[0]=a", "[0].a=b",
	"a={}", "a={", "a={b", "a={b,c}", "a={b,c},d=e", "a={b,c}d=e", "a={b,c}d", "a={b},", "a={1,2.5,true,null,x}", "a={ b, c }", "a={b,}", "a={,b}", "a={,}", "a={{b}}", "a={b{c}", "a={b}}", "a=x{b}", "a= {b}", "a[0]={b,c}", "a={b\\,c,d}", "a={b\\}c}", "a=\\{b}",
	"a=1", "a=01", "a=0", "a=00", "a=-1", "a=+1", "a=1.5", "a=1e3", "a=0x10", "a=9223372036854775807", "a=9223372036854775808", "a=1_000", "a= 1", "a=1 ", "a=-0", "a=0.5", "a=-01",
	"a=true", "a=True", "a=TRUE", "a=tRuE", "a=false", "a=FALSE", "a=yes", "a=null", "a=NULL", "a=Null", "a=~", "a=nil", "a=\"1\"", "a='x'", "a=true ", " a=true",
	"a\\.b=c", "a\\=b=c", "a\\,b=c", "a\\[0\\]=c", "a=b\\,c", "a=b\\\\c", "a=b\\", "a\\", "a=\\n", "a\\b=c", "a=b\\=c", "a=\\1", "a=\\true", "a=\\null",
	"a b=c d", "a=b c", "a =b", "é=ü", "a=日本,b=x", "a={é,ü}", "a[0].b[1].c=x,a[0].b[0]=y", "a=null,b=1", "a.b=null", "a[0]=null", "a.b.c.d.e=1", "a:b=c", "a/b=c", "a.0=x", "0=x", "true=x", "null=x",
	"a[2]=x", "a[65536]=x", "a[65537]=x", "a[99999999999999999999]=1", "a={b},a[0]=c", "a={b},a[1]=c", "a={b,c},a[0].x=d", "a=b,a[0]=c", "a.b=c,a[0]=d", "a[0]=c,a.b=d",
	"a={x},b={y}", "a=[1]", "a=1]", "a.b[0]=x", "a.b[0].c=x", "a[0].b.c=x", "a[0].=x", "a[0]..b=x", "a[0].b[0]=x", "a[0]=", "a[0]=,b=1", "a[0] =1", "global.a=1",
	strings.Repeat("a.", 29) + "a=1", strings.Repeat("a.", 30) + "a=1", strings.Repeat("a.", 31) + "a=1", "a" + strings.Repeat("[0]", 29) + "=1", "a" + strings.Repeat("[0]", 30) + "=1", "a" + strings.Repeat("[0]", 31) + "=1", "a" + strings.Repeat("[0].a", 15) + "=1",
	"a={null}", "a={null,null}", "a={\"x\"}", "a={1 , 2}", "a=\n", "a=b\nc", "a={b\nc}", "a\t=b", "a={b}\n", "a={b} ,c=d", "a=b, c=d", "a={b}, c=d",
}

var jsonExpressions = []string{
	"", "a=1", "a=1.5", "a=\"x\"", "a={\"b\":1}", "a=[1,2]", "a=[1,2],b=3", "a=null", "a=", "a=,b=1", "a", "a=x", "a={\"b\":1},c=2", "a=1,b", "a={", "a=1 2", "a=1 ,b=2", "a= 1,b=2", "a=1,", "a=\"x,y\",b=\"z\"",
	`{"a":1}`, `{"a":{"b":1}}`, ` {"a":1}`, `{"a":1} `, `{"a":1},b=1`, `{"a":1`, `{}`, `[1]`, `{"a":null}`, `{"a":1}{"b":2}`, `{"a":1}x`, "a.b=1", "a[0]=1", "a[1].b={\"c\":null}", "a=9007199254740993", "a=1e3", "a={\"b\":1,\"b\":2}", "a=true", "a=TRUE", "a={\"b\":[1,{\"c\":null}]}", "a=1,a.b=2", "a={\"x\":1},a.b=2", "a={\"x\":1},a={\"y\":1}", "{a}=1", "a=\\1", "a\\.b=1", "a=[1],a[0]=2", "a=[1]b=2", "a=1;b=2", "a=\"x\"\"y\"", "a=1\n,b=2", "a=-0", "a=-1", "a=01",
}

var literalExpressions = []string{
	"", "a", "a=", "a=b", "a=b,c=d", "a=b\\,c", "a\\.b=c", "a.b=c", "a[0]=b", "a[1].b=c,d", "a={b,c}", "a=null", "a=1", "a=true", "a=b=c", "=b", "a.=b", ".a=b", "a[0]", "a[0]b=c", "a,b=c", "a\\,b=c", "a=\\n", "a[-1]=b", "a[x]=b", "a.b[0]=c", "a[65537]=1", "a=  x ", "a[0][1]=x", "a[0]=x,b=y", "a\\=b=c", "a[0", "a[0].", "a.", "a=\n", "a=b\nc",
	strings.Repeat("a.", 29) + "a=1", strings.Repeat("a.", 30) + "a=1", strings.Repeat("a.", 31) + "a=1", "a[65536]=1",
}

// better reports whether a difference is intended: Helm ignores an unclosed index and an empty
// key after an index, has no limit for nested lists, ignores "[1]", and cannot set a value
// below a null.
func better(mode Mode, expr string, err error, perr error) bool {
	switch {
	case err == nil && perr != nil:
		return strings.Contains(perr.Error(), "interface {} is nil")
	case err == nil:
		return strings.Contains(expr, "].") || strings.Contains(expr, "][") || strings.Contains(expr, "][") || strings.Contains(expr, "\\.=")
	}
	for _, s := range []string{"is not closed with ']'", "a key is empty", "nests deeper", "is a JSON list"} {
		if perr == nil && strings.Contains(err.Error(), s) {
			return true
		}
	}
	return false
}

// TestPeerSet compares the results of single expressions for an empty map.
func TestPeerSet(t *testing.T) {
	bin := peer(t)
	dir := dumpChart(t)
	read := func(path string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, path)) }
	check := func(mode Mode, expr string) {
		t.Helper()
		ours := map[string]any{}
		err := Apply(ours, mode, expr, read)
		theirs, perr := peerDump(bin, dir, mode.String(), expr)
		theirs = between(theirs)
		if better(mode, expr, err, perr) {
			return
		}
		switch {
		case (err == nil) != (perr == nil):
			t.Errorf("%s %q\n ours: %v %s\n peer: %v %s", mode, expr, err, dump(ours), perr, theirs)
		case err == nil && dump(ours) != theirs:
			t.Errorf("%s %q\n ours: %s\n peer: %s", mode, expr, dump(ours), theirs)
		}
	}
	for _, e := range oddExpressions {
		check(Set, e)
	}
	for _, e := range []string{"a=1", "a=null", "a=true", "a={1,null}", "a=0", "a={}", "a[1]=null", "a.b=false"} {
		check(SetString, e)
	}
	for _, e := range jsonExpressions {
		check(SetJSON, e)
	}
	for _, e := range literalExpressions {
		check(SetLiteral, e)
	}
	for _, e := range []string{"a=f1", "a=nope", "a=f1,b=b", "a={f1,b}", "a[1]=f1", "a", "a=", "a.b=f1", "a= f1", "a=f\\1", "a={f1,nope}", "a={}", "a={,}", "a=f1,"} {
		check(SetFile, e)
	}
	for _, e := range []string{"a=null,a.b=2", "a=null,a[0]=2", "a[0]=null,a[0].b=1", "a[0]=1,a[0][0]=2", "a[0].b=1,a[0][0]=2", "a[0].b=1,a[0].b.c=2", "a[0].b=1,a[0].b[0]=2", "a=,a.b=1", "a={x},a[0][0]=1", "a.b=1,a[0]", "a={x,y},a[0]", "a={1,2},a={3}", "a=x,a={3}", "a.b.c=1,a.b=null,a.b.d=1"} {
		check(Set, e)
	}
	rng := rand.New(rand.NewSource(1))
	pieces := []string{"a", "b", ".", ",", "=", "=", "[0]", "[1]", "[", "]", "{", "}", "\\", "1", "null", "true", " ", "0", "x", "-1", "=1,"}
	for range rounds(0) {
		var b strings.Builder
		for range 2 + rng.Intn(10) {
			b.WriteString(pieces[rng.Intn(len(pieces))])
		}
		check([]Mode{Set, Set, Set, SetJSON, SetLiteral, SetString, SetFile}[rng.Intn(7)], b.String())
	}
}

var documents = []string{
	"", "\n", "# only a comment\n", "---\n", "---\n---\n", "...\n", "null\n", "~\n", "{}\n", "[]\n", "- a\n- b\n", "text\n", "1\n", "true\n", "\"\"\n",
	"a: 1\na: 2\n", "a: {b: 1}\na: {c: 2}\n", "{a: 1, a: 2}\n", "1: a\n\"1\": b\n",
	"a: yes\nb: No\nc: on\nd: OFF\ne: y\nf: N\ng: true\nh: TRUE\ni: False\n", "a: 'yes'\nb: \"on\"\nc: !!str yes\n",
	"a: 0777\nb: 0o777\nc: 0x1f\nd: 0b101\ne: 1_000\nf: 08\ng: -0b11\nh: +5\ni: 1e3\nj: .5\nk: 5.\nl: 1.5e-7\nm: 1:30\nn: 0.1.2\no: 1_0.5\np: -.5\nq: 0_7\nr: _1\ns: 1__2\nt: 0x_1\nu: 0X1F\nv: 0B11\nw: 0O7\nx: 1e400\n",
	"a: 1e400\n", "a: .inf\n", "a: -.Inf\n", "a: .NaN\n", ".inf: a\n.nan: b\n", "a: 12345678901234567890\nb: 123456789012345678901234567890\nc: -9223372036854775808\nd: 9223372036854775807\ne: 18446744073709551616\n",
	"a: 2001-12-14\nb: 2001-12-14t21:59:43.10-05:00\nc: 2001-12-14 21:59:43.10 -5\nd: 2001-1-2\ne: !!timestamp 2001-12-14\nf: !!timestamp 2001-12-14T21:59:43Z\n2001-12-14: key\n",
	"a:\nb: null\nc: ~\nd: Null\ne: ''\nf: !!null x\n", "~: a\n", "null: a\n", "? [a, b]\n: c\n", "? {a: 1}\n: c\n", "? a\n: b\n", "? a\n", ": a\n",
	"base: &b {x: 1, y: 2}\nm: {<<: *b, y: 3}\n", "base: &b {x: 1}\nother: &o {z: 1, x: 2}\nm:\n  <<: [*b, *o]\n  z: 9\n", "m:\n  <<: {a: 1}\n  b: 2\n", "m: {<<: 1}\n", "m: {'<<': {a: 1}}\n", "m: {b: 1, <<: {b: 2, c: 3}}\n", "<<: {a: 1}\nb: 2\n",
	"a: &x [1, 2]\nb: *x\n", "a: &x {b: *x}\n", "a: *nope\n", "a: &x 1\na2: &x 2\nb: *x\n", "&k a: 1\nb: *k\n", "a: &e\nb: *e\n",
	"a: !!binary aGVsbG8=\n", "a: !!binary /////w==\n", "a: !!binary not base64!\n", "a: !!int 5\nb: !!int '5'\nc: !!float 5\nd: !!str 5\ne: !!bool true\nf: !custom x\n", "a: !!int x\n", "a: !!bool yes\n", "a: !!float x\n", "a: !!set {x, y}\n", "a: !!omap [x: 1]\n", "a: !custom {x: 1}\nb: !<tag:x,2000:y> [1]\n", "a: !!map {x: 1}\nb: !!seq [1]\n", "a: !!str\nb: !!str {x: 1}\n",
	"a: 1\n---\nb: 2\n", "---\na: 1\n...\n---\nb: 2\n", "a: 1\n---\n- x\n", "a: 1\n---\n", "%YAML 1.1\n---\na: 1\n", "%YAML 1.2\n---\na: 1\n", "%YAML 2.0\n---\na: 1\n", "--- a: 1\n", "--- {a: 1}\n", "a: {b: 1}\n---\na: {c: 2, b: null}\n",
	"\xef\xbb\xbfa: 1\n", "a: 1\r\nb: 2\r\n", "a: 1\rb: 2\r", "a: \xff\n", "a: \x00\n", "a: \x07\n", "a: \"\\x07\"\n", "\ta: 1\n", "a:\n\tb: 1\n", "a:\tb\n", "a: b\t\n", "a: \u2028x\n", "a: \u0085x\n",
	"a: |\n  x\n  y\nb: >\n  x\n  y\n\n  z\nc: |-\n  x\nd: |+\n  x\n\ne: |2\n    x\n", "a: 'it''s'\nb: \"x\\ty\\u00e9\\n\"\nc: \"a\n  b\"\nd: plain\n  more\n  lines\n", "a: x # comment\nb: x#y\nc: '#'\n", "a: x: y\n", "a: [1, 2\n", "a: {b: 1\n", "a: 'x\n", "a: b\n c: d\n", "a: b\n  - c\n", "a\n", "a:b\n", "a: - b\n", "a: @x\n", "a: `x\n", "a: %x\n", "a: *\n", "a: &\n", "a: !\n", "a: ? b\n", "a: [x: 1, y]\n", "a: {x, y: 1}\n", "a: {x: }\n", "a: [,]\n", "a: [1,]\n", "a: {a: 1,}\n", "a: [a\n b]\n", "a: ]\n",
	"{\"a\": {\"b\": [1, 2.5, null, true, \"x\\u00e9\\/\"]}}", "{\"a\":1}", "{\"a\":1,\n\t\"b\":2}", "{\"a\":\"\\ud83d\\ude00\"}",
	"true: a\nyes: b\nno: c\non: d\n", "1.0: a\n1e3: b\n0x10: c\n010: d\n-1: e\n1.5: f\n0.1: g\n100000000000000000000: h\n1e21: i\n3.14159265358979: j\n9223372036854775808: k\n", "a.b: 1\n", "\"\": x\n", "'a b': c\n", "a b: c\n", "\"a\\nb\": c\n", "[a]: 1\n", "- a: 1\n  b: 2\n", "a:\n- b: 1\n  c: 2\n- - x\n  - y\n-\n- {}\n- []\n", "a:\n  - b\n c: 1\n", "a:\n   b: 1\n  c: 2\n", "a: \"<>&\u2028\"\n", "a: -0.0\nb: -0\nc: 0.0\n", "a: 1.0\nb: 1.10\nc: 100000000000000000000000.0\nd: 1e21\n", "a: =\n", "a: <<\n", "- &a x\n", "a: - \n", "a: -\n", "a: --- b\n", "a: b ---\n", "a:\n---\nb: 1\n", "a: 'x' y\n", "a: \"x\" # c\n", "a: [x] y\n", "a: !!str 'x'\n", "? |\n  block key\n: - one\n  - two\n",
}

// ours are documents that we read and Helm does not (directives, content after dashes, escapes
// of JSON only), or that Helm reads differently each time.
var ours = map[string]bool{
	"%YAML 1.1\n---\na: 1\n": true, "--- {a: 1}\n": true, "1: a\n\"1\": b\n": true,
	"{\"a\": {\"b\": [1, 2.5, null, true, \"x\\u00e9\\/\"]}}": true, "{\"a\":\"\\ud83d\\ude00\"}": true,
}

// TestPeerParse compares how documents are read, as a chart's defaults and as the user's files.
func TestPeerParse(t *testing.T) {
	bin := peer(t)
	dir := dumpChart(t)
	file := filepath.Join(t.TempDir(), "f.yaml")
	for _, doc := range documents {
		if ours[doc] {
			continue
		}
		filetest.WriteFile(t, file, doc)
		ours, err := Parse("f.yaml", []byte(doc))
		theirs, perr := peerDump(bin, dir, "-f", file)
		theirs = between(theirs)
		switch {
		case (err == nil) != (perr == nil):
			t.Errorf("%q\n ours: %v %s\n peer: %v %s", doc, err, dump(ours), perr, theirs)
		case err == nil && dump(ours) != theirs:
			t.Errorf("%q\n ours: %s\n peer: %s", doc, dump(ours), theirs)
		case err != nil:
			t.Logf("%q\n ours: %v\n peer: %v", doc, err, perr)
		}
		filetest.WriteFile(t, filepath.Join(dir, "values.yaml"), doc)
		asDefaults, derr := peerDump(bin, dir)
		os.Remove(filepath.Join(dir, "values.yaml"))
		if (derr == nil) != (err == nil) {
			t.Errorf("%q as defaults\n ours: %v\n peer: %v", doc, err, derr)
			continue
		}
		if err != nil {
			continue
		}
		r, _ := Resolve(&chart.Chart{Metadata: &chart.Metadata{Name: "p"}, Values: ours}, nil)
		if got := dump(r.Values); got != between(asDefaults) {
			t.Errorf("%q as defaults\n ours: %s\n peer: %s", doc, got, between(asDefaults))
		}
	}
}
