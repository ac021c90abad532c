// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/template"

	"github.com/BurntSushi/toml"
	"github.com/Masterminds/sprig/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// The tests of this file generate programs in the template language, run them with
// text/template and sprig and with the evaluator of this package, and compare the output and
// whether they fail. A program is generated from bytes, so that fuzzing can control it; no
// bytes, or zeros, select the simplest alternatives. To run more of them:
//
//	PROGRAMS=1000000 SEED=7 go test -run TestPrograms -timeout 0 ./engine

// reference runs programs with text/template.
var reference = sync.OnceValue(func() *template.Template {
	return template.New("x").Option("missingkey=zero").Funcs(referenceFuncs())
})

// referenceFuncs returns sprig's functions and simple implementations of Helm's.
func referenceFuncs() template.FuncMap {
	funcs := template.FuncMap(sprig.GenericFuncMap())
	delete(funcs, "env")
	delete(funcs, "expandenv")
	for name, fn := range durationFuncs() { // not in sprig 3.3.0; types_test.go compares with Helm
		funcs[name] = fn
	}
	toYaml := func(v any) (string, error) {
		data, err := sigsyaml.Marshal(v)
		return strings.TrimSuffix(string(data), "\n"), err
	}
	toToml := func(v any) (string, error) {
		if v == nil {
			return "", errors.New("nothing")
		}
		var b bytes.Buffer
		err := toml.NewEncoder(&b).Encode(v)
		return b.String(), err
	}
	quiet := func(fn func(any) (string, error)) func(any) string {
		return func(v any) string {
			s, err := fn(v)
			if err != nil {
				return ""
			}
			return s
		}
	}
	toJSON := func(v any) (string, error) {
		data, err := json.Marshal(v)
		return string(data), err
	}
	funcs["toYaml"], funcs["mustToYaml"] = quiet(toYaml), toYaml
	funcs["toJson"], funcs["mustToJson"] = quiet(toJSON), toJSON
	funcs["mustToToml"] = toToml
	funcs["toToml"] = func(v any) (string, error) {
		s, err := toToml(v)
		if err != nil && v != nil {
			return err.Error(), nil
		}
		return s, err
	}
	funcs["toYamlPretty"] = toYAMLPretty
	funcs["fromYaml"] = func(s string) map[string]any { return decoded(s, readYAML) }
	funcs["fromYamlArray"] = func(s string) []any { return decodedList(s, readYAML) }
	funcs["fromJson"] = func(s string) map[string]any { return decoded(s, json.Unmarshal) }
	funcs["fromJsonArray"] = func(s string) []any { return decodedList(s, json.Unmarshal) }
	funcs["fromToml"] = func(s string) map[string]any { return decoded(s, toml.Unmarshal) }
	funcs["required"] = func(message string, v any) (any, error) {
		if v == nil || v == "" {
			return nil, errors.New(message)
		}
		return v, nil
	}
	funcs["lookup"] = func(_, _, _, _ string) map[string]any { return map[string]any{} }
	funcs["getHostByName"] = func(string) string { return "" }
	funcs["include"] = func(string, any) string { return "" } // bind sets the implementations
	funcs["tpl"] = func(string, any) string { return "" }
	return funcs
}

func readYAML(data []byte, v any) error { return sigsyaml.Unmarshal(data, v) }

func decoded(text string, read func([]byte, any) error) map[string]any {
	m := map[string]any{}
	if err := read([]byte(text), &m); err != nil {
		if m == nil {
			m = map[string]any{}
		}
		m["Error"] = err.Error()
	}
	return m
}

func decodedList(text string, read func([]byte, any) error) []any {
	a := []any{}
	if err := read([]byte(text), &a); err != nil {
		a = []any{err.Error()}
	}
	return a
}

// pointers are the pointers of judgeData that are shared, because their addresses may be
// printed and hashed.
var pointers = sync.OnceValue(judgeData)

func programData() map[string]any {
	data := judgeData()
	data["caps"], data["ptr"] = pointers()["caps"], pointers()["ptr"]
	return data
}

// bind adds functions to t that run its own templates.
func bind(t *template.Template) {
	t.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b strings.Builder
			err := t.ExecuteTemplate(&limited{b: &b}, name, data)
			return b.String(), err
		},
		"tpl": func(text string, data any) (string, error) {
			c, err := t.Clone()
			if err != nil {
				return "", err
			}
			bind(c)
			main, err := c.New("tpl").Parse(text)
			if err != nil {
				return "", err
			}
			var b strings.Builder
			err = main.Execute(&limited{b: &b}, data)
			return withoutNoValue(b.String()), err
		},
	})
}

// runReference runs text with text/template.
func runReference(text string) (out string, err error) {
	t, err := reference().Clone()
	if err != nil {
		return "", err
	}
	bind(t)
	if t, err = t.Parse(text); err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&limited{b: &b}, programData())
	return withoutNoValue(b.String()), err
}

var sharedFunctions = sync.OnceValue(func() *engine { return newEngine(&Input{}) })

// runOurs runs text with the evaluator of this package.
func runOurs(text string) (out string, err error) {
	out, _, err = runTraced(text, nil)
	return out, err
}

// runTraced runs text with a tracer, which may be nil, and returns the trace of what it prints.
func runTraced(text string, t *tracer) (out string, trace *Trace, err error) {
	shared := sharedFunctions()
	e := &engine{in: &Input{}, tpl: map[textOf]*parsed{}, funcs: shared.funcs, known: shared.known, stepLimit: maxSteps, ownsValues: true}
	e.spent.begin()
	p := parseText(text, e.known, &e.nodes)
	if p.err != nil {
		return "", nil, p.err
	}
	e.set = &templateSet{defs: map[string]*definition{}}
	src := &source{file: "x", text: text}
	for name, t := range p.trees {
		if name == mainName {
			name = "x"
		}
		e.set.add(&definition{name: name, root: t, src: src})
	}
	x := e.executor(context.Background())
	x.tracer = t
	defer func() {
		if r := recover(); r != nil {
			failure, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			err = failure
		}
	}()
	out = x.execute(e.set.find("x"), e.set, nil, programData())
	if t != nil {
		trace = &Trace{without(t.result, out, noValue)}
	}
	return withoutNoValue(out), trace, nil
}

// programmer generates a program.
type programmer struct {
	data []byte
	vars []string
	// defined is the number of templates that can be called.
	defined int
	ranges  int
	// inner is the number of enclosing blocks that set the dot.
	inner int
	inTpl bool
	size  int
}

func (p *programmer) next(n int) int {
	if len(p.data) == 0 {
		return 0
	}
	b := p.data[0]
	p.data = p.data[1:]
	return int(b) % n
}

func (p *programmer) pick(from ...string) string {
	if len(from) > 256 {
		return from[(p.next(256)*256+p.next(256))%len(from)]
	}
	return from[p.next(len(from))]
}

// program generates a body and definitions, which call only those before them. The body comes
// first, so that few bytes generate a program that runs.
func (p *programmer) program() string {
	defined := p.next(3)
	p.defined, p.vars = defined, []string{"$"}
	text := p.body(4)
	text = `{{ define "x0" }}{{ kindOf . }}{{ end }}` + text
	for p.defined = 0; p.defined < defined; p.defined++ {
		p.vars, p.size = []string{"$"}, 40
		text = fmt.Sprintf(`{{ define "t%d" }}%s{{ end }}`, p.defined, p.body(2)) + text
	}
	return text
}

func (p *programmer) body(depth int) string {
	var b strings.Builder
	mark := len(p.vars)
	for range 1 + p.next(4) {
		if p.size++; p.size > 60 {
			break
		}
		b.WriteString(p.statement(depth))
	}
	p.vars = p.vars[:mark]
	return b.String()
}

func (p *programmer) open() string {
	return p.pick("{{ ", "{{", "{{- ", " {{- ", "\n{{ ")
}

func (p *programmer) close() string {
	return p.pick(" }}", "}}", " -}}", " -}} ", " }}\n")
}

func (p *programmer) action(text string) string { return p.open() + text + p.close() }

func (p *programmer) statement(depth int) string {
	n := p.next(32)
	if depth <= 0 {
		n %= 14
	}
	switch {
	case n < 1:
		return p.pick("a", " b ", "\n", "{", "é", "<no value>", "x: 1\n", "")
	case n < 8:
		return p.action(p.pipeline(3))
	case n < 10:
		name := p.fresh()
		text := p.action(name + p.pick(" := ", ":=") + p.pipeline(3))
		p.vars = append(p.vars, name)
		return text
	case n < 12:
		if len(p.vars) < 2 {
			return p.action(p.pipeline(2))
		}
		return p.action(p.vars[1+p.next(len(p.vars)-1)] + " = " + p.pipeline(3))
	case n < 13:
		return p.pick("{{/* c */}}", "{{- /* c */ -}}", "{{/* {{ x }} */ -}}")
	case n < 14:
		return p.jump()
	case n < 18:
		return p.branch("if", depth)
	case n < 22:
		return p.branch("with", depth)
	case n < 28:
		return p.loop(depth)
	case n < 29:
		return p.action(fmt.Sprintf(`template %q %s`, p.callee(), p.pick("$", "$", "$", ".", "", p.operand(2))))
	case n < 30:
		// A block in a text for tpl must not be the one that calls tpl.
		text := fmt.Sprintf(`{{ block "%s%d" %s }}`, [...]string{"b", "c"}[boolRank(p.inTpl)], p.next(3), p.pick("$", "$", ".", p.operand(2)))
		vars, ranges, inner := p.vars, p.ranges, p.inner
		p.vars, p.ranges, p.inner = []string{"$"}, 0, 0
		text += p.body(depth-1) + "{{ end }}"
		p.vars, p.ranges, p.inner = vars, ranges, inner
		return text
	}
	return p.action(p.include(depth))
}

// include generates a call of a template by a function.
func (p *programmer) include(depth int) string {
	if p.inTpl || p.next(2) == 0 {
		return fmt.Sprintf(`include %q %s`, p.callee(), p.pick("$", "$", "$", ".", p.operand(2)))
	}
	inner := programmer{data: p.data, vars: []string{"$"}, defined: p.defined, inTpl: true, size: p.size}
	text := ""
	if inner.next(4) == 1 {
		text = fmt.Sprintf(`{{ define "%s" }}%s{{ end }}`, inner.pick("t0", "n"), "N")
	}
	text += inner.body(min(depth-1, 2))
	p.data, p.size = inner.data, inner.size
	return "tpl " + strconv.Quote(text) + " " + p.pick("$", "$", "$", ".", p.operand(2))
}

// callee returns the name of a template before this one, so that there is no endless recursion,
// and rarely one that does not exist.
func (p *programmer) callee() string {
	if p.next(64) == 1 {
		return "none"
	}
	if p.defined == 0 {
		return "x0"
	}
	return fmt.Sprint("t", p.next(p.defined))
}

func (p *programmer) fresh() string { return p.pick("$a", "$b", "$c", "$dd") }

func (p *programmer) jump() string {
	if p.ranges == 0 {
		return "-"
	}
	return fmt.Sprintf("{{ if %s }}{{ %s }}{{ end }}", p.condition(), p.pick("continue", "break"))
}

func (p *programmer) condition() string {
	return p.pick("true", ".", "$", "kindIs \"string\" .", "not .", p.operand(2), p.pipeline(1))
}

func (p *programmer) branch(kind string, depth int) string {
	mark := len(p.vars)
	cond := p.condition()
	if p.next(4) == 1 {
		name := p.fresh()
		cond = name + " := " + cond
		p.vars = append(p.vars, name)
	}
	own := boolRank(kind == "with")
	p.inner += own
	text := p.action(kind+" "+cond) + p.body(depth-1)
	p.inner -= own
	for range p.next(3) {
		text += p.action("else " + kind + " " + p.condition())
		p.inner += own
		text += p.body(depth - 1)
		p.inner -= own
	}
	if p.next(2) == 1 {
		text += p.action("else") + p.body(depth-1)
	}
	p.vars = p.vars[:mark]
	return text + p.action("end")
}

// loop generates a range over a small value.
func (p *programmer) loop(depth int) string {
	mark := len(p.vars)
	over := p.pick(".Values.l", ".m", ".list", ".ints", ".bools", ".nums", ".str", ".i", ".u", "3", "0", ".nil", ".none", ".Values", ".Values.a",
		"(list)", "(list 1 nil \"x\")", "(dict \"b\" 1 \"a\" nil)", "(until 3)", ".bytes", ".caps.APIVersions",
		"(list "+p.operand(2)+" "+p.operand(2)+")", "(dict \"k\" "+p.operand(2)+")", "(tuple "+p.operand(1)+")", "$.m", "$.Values.l")
	if p.next(24) == 1 { // errors in a range
		over = p.pick(".Values.s", ".Values.f", ".when", ".ptr")
	}
	if p.inner > 0 && over[0] == '.' && p.next(8) != 1 {
		over = "$" + over
	}
	switch a, b := p.fresh(), p.fresh(); p.next(6) {
	case 1:
		over = a + " := " + over
		p.vars = append(p.vars, a)
	case 2, 3:
		over = a + ", " + b + " := " + over
		p.vars = append(p.vars, a, b)
	case 4:
		if mark > 2 {
			over = p.vars[1+p.next(mark-1)] + p.pick("", ", "+p.vars[1+p.next(mark-1)]) + " = " + over
		}
	}
	text := p.action("range " + over)
	p.ranges++
	p.inner++
	if p.next(4) == 1 { // modify the value of the range, or of a later one
		text += p.action("$_ := " + p.pick(`set $.m "b" 9`, `unset $.m "b"`, `set $.Values "z" 1`, `unset $.Values "l"`, `set $.m "d" 1`, `mergeOverwrite $.m (dict "c" 7)`, `unset $.m "c"`))
	}
	text += p.body(depth - 1)
	p.ranges--
	p.inner--
	if p.next(3) == 1 {
		text += p.action("else") + p.pick("", p.jump()) + p.body(depth-1)
	}
	p.vars = p.vars[:mark]
	return text + p.action("end")
}

func (p *programmer) pipeline(depth int) string {
	text := p.command(depth, false)
	for range p.next(4) {
		text += p.pick(" | ", "|") + p.command(depth-1, true)
	}
	return text
}

// command generates a call, or a value at the start of a pipeline.
func (p *programmer) command(depth int, piped bool) string {
	n := p.next(8)
	if piped && n > 0 || depth > 0 && n > 2 {
		return p.call(depth, piped)
	}
	if piped {
		if p.next(32) == 1 {
			return p.pick("upper", "len", ".m.a", ".caps.APIVersions.Has", "1", "$")
		}
		return p.pick("quote", "toYaml", "not", "print", "toString", "toJson", "kindOf", "list", "default 1")
	}
	return p.operand(depth)
}

// operand generates an argument.
func (p *programmer) operand(depth int) string {
	n := p.next(16)
	if depth <= 0 {
		n %= 11
	}
	switch {
	case n < 3:
		return p.literal()
	case n < 8:
		return p.path()
	case n < 10:
		return p.vars[p.next(len(p.vars))] + p.suffix(".a", ".m.b", ".Values.a.b", ".k")
	case n < 11:
		return "."
	case n < 15:
		return "(" + p.call(depth-1, false) + ")" + p.suffix(".a", ".k.v", ".Major")
	}
	return "(" + p.pipeline(depth-1) + ")"
}

// suffix rarely returns one of the given suffixes, because few values have fields.
func (p *programmer) suffix(fields ...string) string {
	if p.next(16) == 1 {
		return p.pick(fields...)
	}
	return ""
}

func (p *programmer) literal() string {
	return p.pick("1", "\"a\"", "0", "\"\"", "true", "false", "nil", "-1", "2.5", "1e3", "0x1F", "'a'", "\"1.2.3\"", "\"x y z\"", "`raw`", "\"a,b\"", "3", "100",
		"\"true\"", "\"12\"", "\"{\\\"a\\\": [1, 2]}\"", "\"a: {b: 1}\"", "\"[1, x]\"", "\"a = 1\"", "\"é\"", "\"a\\nb\\n\"", "\"  pad \"", "\"k\"", "\"CamelCase-x_y\"",
		"1_000", "0b11", "1i", "9223372036854775807", "\"2006-01-02\"", "\"5m\"", "\"http://u@h:1/p?q=1\"", "\"/a/b.c\"", "\"YQ==\"", "\">=1.0\"", "1.0", "\"<a>\"", "\"0\"", "\"Values\"")
}

func (p *programmer) path() string {
	path := p.pick(".Values.s", ".i", ".m", ".list", ".Values.l", ".Values", ".Values.a", ".Values.a.b", ".Values.a.n", ".Values.q", ".nil", ".none",
		".i64", ".u", ".Values.f", ".Values.z", ".Values.e", ".Values.t", ".when", ".ints", ".bools", ".nums", ".caps.KubeVersion", ".caps.KubeVersion.Version",
		".ptr", ".ptr.Version", ".nilptr", ".bytes", ".dur", ".dur.Hours", ".str", ".str.k", ".str.q", ".m.b", ".m.c", ".when.Year", ".a", ".k", ".Values.AsMap", ".nil.x", ".Values.YAML")
	if p.next(32) == 1 { // these fail
		path = p.pick(".Values.a.n.x", ".Values.q.x", ".caps.APIVersions.Has", ".nilptr.Version", ".m.c.d", ".m.b.c", ".when.Nope", ".none.x.y", ".list.x")
	}
	if p.inner > 0 && p.next(8) != 1 {
		return "$" + path
	}
	return path
}

// skipped are functions that are random, slow or access the network. shapes has calls of some
// of them.
var skipped = map[string]bool{
	"now": true, "ago": true, "date_modify": true, "dateModify": true, "mustDateModify": true, "must_date_modify": true, "dateInZone": true, "date_in_zone": true,
	"date": true, "htmlDate": true, "htmlDateInZone": true, "uuidv4": true, "shuffle": true, "randAlpha": true, "randAlphaNum": true, "randAscii": true, "randNumeric": true,
	"randBytes": true, "randInt": true, "genPrivateKey": true, "genCA": true, "genCAWithKey": true, "genSelfSignedCert": true, "genSelfSignedCertWithKey": true,
	"genSignedCert": true, "genSignedCertWithKey": true, "derivePassword": true, "bcrypt": true, "htpasswd": true, "encryptAES": true, "getHostByName": true,
	"env": true, "expandenv": true, "keys": true, "values": true, "hello": true,
	"include": true, "tpl": true, // generated elsewhere
	// They modify their arguments; see written.
	"set": true, "unset": true, "merge": true, "mustMerge": true, "mergeOverwrite": true, "mustMergeOverwrite": true,
}

// shapes are calls of skipped functions with a deterministic result.
var shapes = []string{
	"kindOf now", "typeOf now", "len (randAlpha 5)", "len (randAlphaNum 3)", "regexMatch \"^[0-9]+$\" (randNumeric 4)", "len (uuidv4)", "regexMatch \"^[0-9a-f-]{36}$\" uuidv4", "len (shuffle \"abc\")",
	"date \"2006-01-02\" .when | len", "dateInZone \"2006-01-02\" .when \"UTC\"", "htmlDateInZone .when \"UTC\"", "date_modify \"1h\" .when | unixEpoch", "mustDateModify \"x\" .when", "dateModify \"x\" .when | unixEpoch",
	"keys .m | sortAlpha", "keys .m .Values.AsMap | sortAlpha | join \",\"", "keys .nil", "keys nil | len", "values (dict \"a\" 1)", "values (dict)", "values .str", "genPrivateKey \"x\"", "randInt 3 4", "randInt 4 3",
	"len (randBytes 8)", "ago 1", "ago \"x\"", "getHostByName \"x\"", "len (encryptAES \"k\" \"x\")", "decryptAES \"k\" (encryptAES \"k\" \"x\")", "len (bcrypt nil)",
	"lookup \"v1\" \"Pod\" \"\" \"\"", "required \"m\" .nil", "required \"m\" .Values.e", "required \"m\" .m", "fail \"x\"", "hello",
}

// call generates a call of a function.
func (p *programmer) call(depth int, piped bool) string {
	n := p.next(40)
	if n < 4 && !piped {
		return p.written(depth)
	}
	if n < 6 && !piped {
		return p.pick(shapes...)
	}
	if n < 12 {
		return p.builtin(depth, piped)
	}
	name := p.pick(callable()...)
	fn := sharedFunctions().funcs[name]
	for range 8 { // the piped value is rarely a string
		if last := len(fn.params) - 1; !piped || last >= 0 && fn.params[last].kind == anyKind || p.next(8) == 1 {
			break
		}
		name = p.pick(callable()...)
		fn = sharedFunctions().funcs[name]
	}
	return p.callOf(name, fn, depth, piped)
}

// callable are the functions that are called with arguments of all types.
var callable = sync.OnceValue(func() []string {
	var names []string
	for name := range referenceFuncs() {
		if fn := sharedFunctions().funcs[name]; fn != nil && !skipped[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
})

func (p *programmer) builtin(depth int, piped bool) string {
	name := p.pick("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "len", "index", "print", "printf", "println", "html", "js", "urlquery", "call", "default", "ternary")
	text := name
	if name == "printf" {
		text += " " + p.pick("\"%v\"", "\"%s-%d\"", "\"%T\"", "\"%#v\"", "\"%5.2f|%-4s|\"", "\"%q\"", "\"%[2]v %[1]v\"", "\"%x\"", "\"%t%%\"", "\"%\"", "\"%!\"", "\"%*d\"", "\"%+v\"", "\"%[3]d\"", "\"%v%v%v%v\"", "\"%c\"", "\"%05d\"")
	}
	switch name {
	case "eq", "ne", "lt", "le", "gt", "ge":
		kind := p.next(4)
		for range 2 + p.next(8)/7 - boolRank(piped) {
			text += " " + p.comparable(kind, depth)
		}
		return text
	case "ternary":
		text += " " + p.operand(depth-1) + " " + p.operand(depth-1)
		if piped {
			return text
		}
		return text + " " + p.pick("true", "false", "(not .)", "$.Values.t")
	case "index":
		if !piped {
			return text + " " + p.pick(`$.m "a"`, `$.Values "a" "b"`, "$.list 1", "$.Values.l 2", `$.nums 1`, "$.bytes 0", `$.Values "q"`, "$.list 7", `$.str "k"`)
		}
	case "call", "not", "len":
		if p.next(16) != 1 {
			name = "not"
		}
		if piped {
			return name
		}
		return name + " " + p.operand(depth-1)
	}
	for range p.next(3) + 1 - boolRank(piped) {
		text += " " + p.operand(depth-1)
	}
	return text
}

// comparable generates a value that can be compared with others of its kind.
func (p *programmer) comparable(kind, depth int) string {
	if p.next(24) == 1 {
		return p.operand(depth - 1)
	}
	switch kind {
	case 0:
		return p.pick("1", "$.i", "$.i64", "3", "(len $.list)", "$.u", "(int $.Values.f)", "0", "-1")
	case 1:
		return p.pick(`"text"`, "$.Values.s", `""`, `(print $.i)`, `(toString $.m)`, "$.caps.KubeVersion.Version")
	case 2:
		return p.pick("1.5", "$.Values.f", "$.Values.z", "0.0", "(float64 3)")
	}
	return p.pick("true", "$.Values.t", "(not $.nil)", "(empty $.m)", "nil", "$.nil")
}

// written generates a call that modifies a map. It stores only new or copied values, because
// the reference crashes on a map that contains itself.
func (p *programmer) written(depth int) string {
	table := p.pick(".m", "$.m", ".Values", ".Values.a", "$.Values", "(dict \"a\" 1)", ".str", ".nil", "(deepCopy .m)", p.vars[p.next(len(p.vars))])
	key := p.pick("\"a\"", "\"b\"", "\"new\"", "\"n\"", "\"l\"", "\"i\"", "1", ".Values.s")
	plain := p.pick("1", "nil", "\"\"", "\"w\"", "(list 1 2)", "(dict \"x\" 1)", "(dict)", "false", "2.5")
	copied := func() string {
		return p.pick("(deepCopy "+p.operand(depth-1)+")", "(dict \"a\" (dict \"b\" 2 \"c\" (list 1)) \"i\" nil)", "(deepCopy .Values)", "(deepCopy $.m)", "nil", "(fromYaml \"a: {b: 1}\")")
	}
	switch p.next(4) {
	case 0:
		return "set " + table + " " + key + " " + plain
	case 1:
		return "unset " + table + " " + key
	}
	text := p.pick("merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite") + " " + copied()
	for range p.next(3) {
		text += " " + copied()
	}
	return text
}

// callOf generates a call of a function, mostly with valid arguments.
func (p *programmer) callOf(name string, fn *function, depth int, piped bool) string {
	count := fn.fixed
	if fn.variadic {
		count += p.next(4)
	}
	if p.next(64) == 1 {
		count += p.next(3) - 1
	}
	if piped {
		count--
	}
	text := name
	for i := range count {
		at := i
		if !fn.variadic {
			at = min(i, len(fn.params)-1)
		}
		if at < 0 {
			continue
		}
		text += " " + p.argument(name, at, fn.param(at), depth)
	}
	return text
}

// sized are functions whose result has the size of a number.
var sized = map[string]bool{
	"repeat": true, "until": true, "untilStep": true, "seq": true, "indent": true, "nindent": true, "wrap": true, "wrapWith": true, "abbrev": true, "abbrevboth": true, "chunk": true, "mustChunk": true,
}

func (p *programmer) argument(name string, at int, want param, depth int) string {
	if strings.HasPrefix(strings.ToLower(strings.TrimPrefix(name, "must")), "regex") && at == 0 {
		return p.pick("\"a\"", "\"[a-z]+\"", "\"(a)(b)?\"", "\"\"", "\".*\"", "\"[\"", "\"^x|y$\"", "\"(?i)A\"", "\" \"")
	}
	if sized[name] && want.kind != stringKind {
		return p.pick("2", "0", "1", "3", "-1", "7", ".i", "nil", "\"x\"", "1.5", ".nil", ".m")
	}
	if p.next(24) == 1 {
		return p.operand(depth - 1)
	}
	switch want.kind {
	case stringKind:
		return p.pick("\"a b-c\"", ".Values.s", "\"\"", "\"x\"", p.literal(), "(print "+p.operand(depth-1)+")", "(toString "+p.operand(depth-1)+")", "(toYaml "+p.operand(depth-1)+")", "\"1.2.3-a+b\"", "(toJson "+p.operand(depth-1)+")", ".str.k")
	case intKind:
		return p.pick("1", "0", "2", "-1", ".i", "5", "(len \"abc\")", "(int "+p.literal()+")", "64")
	case boolKind:
		return p.pick("true", "false", ".Values.t", "(not .nil)", "(empty "+p.operand(depth-1)+")")
	case mapKind:
		return p.pick(".m", ".Values", ".Values.a", "(dict)", "(dict \"a\" "+p.operand(depth-1)+")", "$.m", ".none", "(fromYaml \"a: {b: 1}\")")
	case sliceKind:
		return p.pick(".Values.l", "(list)", "(list 1 "+p.operand(depth-1)+")", ".list")
	}
	if want.typ.Kind() == reflect.Slice {
		return p.pick(".Values.l", "(list 1 \"a\")", ".list", ".ints", ".bytes", "(until 3)", ".caps.APIVersions")
	}
	return p.pick(p.operand(depth-1), ".Values.l", ".m", p.literal(), p.path(), "(list 3 1 2)", "(list \"b\" \"a\" \"b\")")
}

// sameProgram runs the program generated from data with both and compares.
func sameProgram(t *testing.T, data []byte) (failed bool) {
	t.Helper()
	p := programmer{data: data}
	text := p.program()
	want, wantErr := runReference(text)
	got, err := runOurs(text)
	switch {
	case wantErr == nil && err != nil && strings.Contains(text, "genPrivateKey") && strings.Contains(err.Error(), "steps"):
		// A key costs a hundredth of all steps, and a loop may make more of them than there are steps for.
	case wantErr == nil && err != nil:
		t.Errorf("%s\nwe fail: %v", text, err)
	case wantErr != nil && err == nil:
		t.Errorf("%s\nwe say %q, Go fails: %v", text, got, wantErr)
	case wantErr == nil && addresses.ReplaceAllString(got, "") != addresses.ReplaceAllString(want, ""):
		t.Errorf("%s\n got %q\nwant %q", text, got, want)
	}
	sameTraced(t, text, got, err)
	return wantErr != nil
}

// sameTraced runs a program with a tracer. It must print the same, and the pieces must be all of the
// output, in order.
func sameTraced(t *testing.T, text, want string, wantErr error) {
	t.Helper()
	got, trace, err := runTraced(text, newTracer(nil))
	switch {
	case (err == nil) != (wantErr == nil):
		t.Errorf("%s\nwith a trace: %v, without: %v", text, err, wantErr)
	case err != nil:
		return
	case addresses.ReplaceAllString(got, "") != addresses.ReplaceAllString(want, ""):
		t.Errorf("%s\nwith a trace %q\nwithout      %q", text, got, want)
	}
	at := 0
	for _, p := range trace.Pieces {
		if p.Start != at || p.End <= p.Start || p.Site.InFile().Line < 1 {
			t.Errorf("%s\n%q: a piece is from %d to %d, after one up to %d: %v", text, got, p.Start, p.End, at, p.Site)
			return
		}
		at = p.End
	}
	if at != len(got) {
		t.Errorf("%s\n%q: the pieces end at %d of %d", text, got, at, len(got))
	}
}

// TestPrograms runs programs generated from random bytes: PROGRAMS programs beginning with
// SEED, or a few thousand.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	count, seed := 3000, 1
	for name, v := range map[string]*int{"PROGRAMS": &count, "SEED": &seed} {
		t.Run(name, func(t *testing.T) {
			if text := os.Getenv(name); text != "" {
				n, err := strconv.Atoi(text)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				*v = n
			}
		})
	}
	failed := 0
	for i := range count {
		if sameProgram(t, randomBytes(uint64(seed), uint64(i))) {
			failed++
		}
		if testing.Verbose() && (i+1)%100_000 == 0 {
			t.Logf("%d programs, of which %d fail in both", i+1, failed)
		}
	}
	if failed > count*9/10 {
		t.Errorf("%d of %d programs fail: they say little", failed, count)
	}
	t.Logf("%d of %d programs fail in both", failed, count)
}

// randomBytes returns the bytes of the i-th program of a seed.
func randomBytes(seed, i uint64) []byte {
	r := rand.New(rand.NewPCG(seed, i))
	data := make([]byte, 20+r.IntN(280))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func FuzzPrograms(f *testing.F) {
	for i := range uint64(50) {
		f.Add(randomBytes(0, i))
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameProgram(t, data) })
}
