// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/arnodel/golua/lib/base"
	"github.com/arnodel/golua/lib/stringlib"
	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/engine/bridge"
	"github.com/moonhelm/moonhelm/script/engine/modules"
)

// plenty is a budget that no honest test uses up.
var plenty = rt.RuntimeResources{Cpu: 400_000_000, Memory: 256 << 20, Millis: 10_000}

var errLimit = errors.New("a limit was hit")

// run runs a script under a budget with everything that o grants, and gives
// what it returns as Go values, several as a list.
func run(t testing.TB, o modules.Options, limits rt.RuntimeResources, text string) (any, error) {
	t.Helper()
	r := rt.New(io.Discard)
	base.Load(r)
	r.SetEnv(r.GlobalEnv(), "string", must(stringlib.LibLoader.Load(r)))
	b := bridge.New(r)
	done := modules.Install(b, r.GlobalEnv(), o)
	defer done(true)
	chunk, err := r.CompileAndLoadLuaChunk("chart.lua", []byte(text), rt.TableValue(r.GlobalEnv()))
	if err != nil {
		t.Fatal(err)
	}
	var got any
	ctx, err := r.MainThread().CallContext(rt.RuntimeContextDef{
		HardLimits:    limits,
		RequiredFlags: rt.ComplyCpuSafe | rt.ComplyMemSafe | rt.ComplyIoSafe | rt.ComplyTimeSafe,
	}, func() error {
		results := rt.NewTerminationWith(nil, 0, true)
		if err := rt.Call(r.MainThread(), rt.FunctionValue(chunk), nil, results); err != nil {
			return err
		}
		var list []any
		for _, v := range results.Etc() {
			g, err := b.ToGo(v)
			if err != nil {
				return err
			}
			list = append(list, g)
		}
		if got = list; len(list) == 1 {
			got = list[0]
		}
		return nil
	})
	if ctx.Status() == rt.StatusKilled {
		return nil, errLimit
	}
	return got, err
}

func must(v rt.Value, _ func()) rt.Value { return v }

// say is how a result is written in a test's table.
func say(v any) string {
	switch v := v.(type) {
	case float64:
		if v == float64(int64(v)) {
			return fmt.Sprintf("%.1f", v)
		}
	case string:
		return fmt.Sprintf("%q", v)
	case nil:
		return "null"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, say(e))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case map[string]any:
		var parts []string
		for _, k := range sorted(v) {
			parts = append(parts, k+":"+say(v[k]))
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	return fmt.Sprint(v)
}

type story struct{ script, want string }

// tell runs the stories; one that ends in an error wants "error: " and its text
// without the place.
func tell(t *testing.T, o modules.Options, stories []story) {
	t.Helper()
	place := regexp.MustCompile(`chart\.lua:\d+: `)
	for _, s := range stories {
		text := s.script
		if !strings.HasPrefix(text, "return") && !strings.HasPrefix(text, "local") {
			text = "return " + text
		}
		v, err := run(t, o, plenty, text)
		got := say(v)
		if err != nil {
			got = place.ReplaceAllString(err.Error(), "")
		}
		if got != s.want {
			t.Errorf("%s\n got %s\nwant %s", s.script, got, s.want)
		}
	}
}

func TestHelm(t *testing.T) {
	tell(t, modules.Options{}, []story{
		{`tostring(helm.null)`, `"null"`},
		{`{helm.null, helm.list{}, helm.map{}, helm.list(), helm.map(), {}}`, `[null [] {} [] {} {}]`},
		{`helm.map{"a", [8080] = "b"}`, `{1:"a" 8080:"b"}`},
		{`local t = {} return helm.list(t) == t and helm.list(t) == t`, `true`},
		{`helm.list(helm.map{})`, `error: bad argument #1 to 'helm.list' (the table is a map already; copy it into a new one)`},
		{`helm.list(setmetatable({}, {}))`, `error: bad argument #1 to 'helm.list' (the table has a metatable of its own)`},
		{`helm.list(nil)`, `error: bad argument #1 to 'helm.list' (table expected, got nothing)`},
		{`helm.fail("no ingress without a host")`, `error: no ingress without a host`},
		{`helm.fail{}`, `error: bad argument #1 to 'helm.fail' (text expected, got table)`},
		{`pcall(helm.fail, "caught")`, `[false "caught"]`},
	})
}

func TestBase64AndSHA256(t *testing.T) {
	tell(t, modules.Options{}, []story{
		{`base64.encode("user:p\0\xff")`, `"dXNlcjpwAP8="`},
		{`base64.decode("dXNlcjpwAP8=")`, `"user:p\x00\xff"`},
		{`base64.decode("dXNl\ncjpwAP8=\n")`, `"user:p\x00\xff"`},
		{`base64.encode("")`, `""`},
		{`base64.decode("no base64")`, `error: base64.decode: the text is not standard base64: illegal base64 data at input byte 2`},
		{`base64.encode(5)`, `error: bad argument #1 to 'base64.encode' (text expected, got number)`},
		{`sha256("")`, `"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`},
		{`sha256("abc") == sha256.sum("abc") and sha256("abc")`, `"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`},
		{`sha256()`, `error: bad argument #1 to 'sha256' (text expected, got nothing)`},
		{`sha256(helm.null)`, `error: bad argument #1 to 'sha256' (text expected, got null)`},
		{`getmetatable(sha256)`, `false`},
	})
}

func TestSemver(t *testing.T) {
	tell(t, modules.Options{}, []story{
		{`semver.parse("v1.2.3-rc.1+build5")`, `{major:1 metadata:"build5" minor:2 patch:3 prerelease:"rc.1" text:"1.2.3-rc.1+build5"}`},
		{`semver.parse("v1.2").text`, `"1.2.0"`},
		{`semver.parse("latest")`, `error: semver.parse: "latest" is not a version such as 1.2.3`},
		{`{semver.compare("1.2.3", "1.10.0"), semver.compare("2", "2.0.0"), semver.compare("2.0.0", "2.0.0-rc1")}`, `[-1 0 1]`},
		{`semver.satisfies("1.28.3", ">=1.20 <2")`, `true`},
		{`semver.satisfies("1.28.3-gke.1", ">=1.20-0")`, `true`},
		{`semver.satisfies("1.28.3", "^2")`, `false`},
		{`semver.satisfies("1.28.3", "bigger")`, `error: semver.satisfies: "bigger" is not a range of versions`},
		{`{semver.valid("1.2.3"), semver.valid("v1"), semver.valid(""), semver.valid("99999999999999999999.0.0"), semver.valid(("1"):rep(5000))}`, `[true true false false false]`},
		{`semver.compare("1.2.3")`, `error: bad argument #2 to 'semver.compare' (text expected, got nothing)`},
		{`semver.parse(("1"):rep(5000))`, `error: bad argument #1 to 'semver.parse' (at most 1024 characters expected, got 5000)`},
	})
}

func TestRegex(t *testing.T) {
	tell(t, modules.Options{}, []story{
		{`regex.match("^v[0-9]+$", "v12")`, `true`},
		{`regex.match("^v[0-9]+$", "v12 ")`, `false`},
		{`return regex.find("v(\\d+)\\.(\\d+)(-rc)?", "at v1.28 and v2.0")`, `["v1.28" "1" "28" ""]`},
		{`regex.find("x", "abc")`, `null`},
		{`regex.findAll("(\\w)(\\d)?", "a1 b")`, `[["a1" "a" "1"] ["b" "b" ""]]`},
		{`regex.findAll("x", "abc")`, `[]`},
		{`regex.replace("(\\w+)@(\\w+)", "me@home, you@work", "${2}: $1, $$")`, `"home: me, $, work: you, $"`},
		{`regex.replace("\\d+", "1 22 333", function(n) return #n > 1 and n * 2 end)`, `"1 44 666"`},
		{`regex.replace("(a)(b)?", "ab a", function(all, a, b) return "<" .. a .. b .. ">" end)`, `"<ab> <a>"`},
		{`regex.replace("\\b", "ab cd", "|")`, `"|ab| |cd|"`},
		{`regex.replace("^a", "aaa", "b")`, `"baa"`},
		{`regex.replace("a", "aaa", function() return {} end)`, `error: regex.replace: the function gave a table; a replacement is text`},
		{`regex.replace("a", "aaa", function() helm.fail("stop") end)`, `error: stop`},
		{`regex.replace("a", "aaa", 5)`, `error: bad argument #3 to 'regex.replace' (text or function expected, got number)`},
		{`regex.split(",\\s*", "a, b,c")`, `["a" "b" "c"]`},
		{`regex.split(",", "a,b,c", 2)`, `["a" "b,c"]`},
		{`regex.split(",", "")`, `[""]`},
		{`regex.split(",", "a", 0)`, `error: bad argument #3 to 'regex.split' (at least 1 expected, got 0)`},
		{`regex.match("a(", "a")`, "error: bad argument #1 to 'regex.match' (error parsing regexp: missing closing ): `a(`)"},
		{`regex.match("\\1", "a")`, "error: bad argument #1 to 'regex.match' (error parsing regexp: invalid escape sequence: `\\1`)"},
		{`regex.match(("a"):rep(5000), "a")`, `error: bad argument #1 to 'regex.match' (a pattern of at most 4096 bytes expected, got 5000)`},
		{`regex.match("a")`, `error: bad argument #2 to 'regex.match' (text expected, got nothing)`},
	})
}

// What a chart does to its tables no other chart sees, and no one else's
// permission is anybody's.
func TestTablesAreFreshAndGrantsAreKept(t *testing.T) {
	r := rt.New(io.Discard)
	b := bridge.New(r)
	one, two := rt.NewTable(), rt.NewTable()
	modules.Install(b, one, modules.Options{Grants: []string{"network"}})
	modules.Install(b, two, modules.Options{Grants: []string{"io", "os"}})
	for name, in := range map[string][2]bool{
		"yaml": {true, true}, "json": {true, true}, "base64": {true, true}, "semver": {true, true}, "regex": {true, true},
		"sha256": {true, true}, "helm": {true, true}, "http": {true, false}, "net": {true, false}, "io": {false, true}, "os": {false, true},
	} {
		a, c := one.Get(rt.StringValue(name)), two.Get(rt.StringValue(name))
		if a.IsNil() == in[0] || c.IsNil() == in[1] {
			t.Errorf("%s: %v, %v; want %v", name, !a.IsNil(), !c.IsNil(), in)
		}
		if in[0] && in[1] && a.Equals(c) {
			t.Errorf("%s is shared", name)
		}
	}
}

func TestReferenceHoldsWhatIsInstalled(t *testing.T) {
	described := map[string]bool{}
	for _, f := range modules.Reference() {
		if described[f.Name] {
			t.Errorf("%s is described twice", f.Name)
		}
		described[f.Name] = true
		if !strings.HasPrefix(f.Signature, f.Name) || !strings.HasSuffix(f.Text, ".") || len(f.Text) < 10 {
			t.Errorf("%+v", f)
		}
	}
	env := rt.NewTable()
	modules.Install(bridge.New(rt.New(io.Discard)), env, modules.Options{Grants: []string{"network", "io", "os"}})
	count := 0
	each(env, func(table string, v rt.Value) {
		each(v.AsTable(), func(name string, _ rt.Value) {
			count++
			if !described[table+"."+name] {
				t.Errorf("%s.%s is not described", table, name)
			}
		})
	})
	for name := range described {
		if name == "sha256" || strings.HasPrefix(name, "file:") {
			count++
		}
	}
	if count != len(described) {
		t.Errorf("%d are installed, %d described", count, len(described))
	}
}

func each(t *rt.Table, f func(string, rt.Value)) {
	for k, v, _ := t.Next(rt.NilValue); !k.IsNil(); k, v, _ = t.Next(k) {
		f(k.AsString(), v)
	}
}

// Whatever a script gives to a function, a small budget ends it, soon and
// before the memory is taken.
func TestBudgetsEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	big := `local big = ("x"):rep(10000000) `
	for name, script := range map[string]string{
		"yaml.decode":           big + `yaml.decode(big)`,
		"yaml.decode lines":     `yaml.decode(("a: b\n"):rep(2000000))`,
		"yaml.decode nodes":     `yaml.decode("[" .. ("1,"):rep(1000000) .. "1]")`,
		"yaml.decode depth":     `yaml.decode(("["):rep(1000000))`,
		"yaml.decodeAll":        big + `yaml.decodeAll(big)`,
		"yaml.encode":           big + `local t = helm.list{} for i = 1, 100 do t[i] = big end yaml.encode(t)`,
		"yaml.encode key":       big + `yaml.encode{[big] = big}`,
		"json.decode":           big + `json.decode('"' .. big .. '"')`,
		"json.decode nodes":     `json.decode("[" .. ("1,"):rep(1000000) .. "1]")`,
		"json.decode objects":   `json.decode("[" .. ("{},"):rep(1000000) .. "1]")`,
		"json.encode":           big + `local t = helm.list{} for i = 1, 100 do t[i] = big end json.encode(t)`,
		"json.encode escapes":   `json.encode(("\0"):rep(10000000))`,
		"base64.encode":         big + `for i = 1, 100 do base64.encode(big) end`,
		"base64.decode":         `local big = ("eHh4"):rep(2500000) for i = 1, 100 do base64.decode(big) end`,
		"sha256":                big + `for i = 1, 1000 do sha256(big) end`,
		"sha256.sum":            big + `for i = 1, 1000 do sha256.sum(big) end`,
		"semver.parse":          `while true do semver.parse("1.2.3") end`,
		"semver.compare":        `while true do semver.compare("1.2.3", "1.2") end`,
		"semver.satisfies":      `local r = (">=1.2.3 "):rep(20) while true do semver.satisfies("1.2.3", r) end`,
		"semver.valid":          `while true do semver.valid(("9."):rep(500)) end`,
		"regex.match":           big + `regex.match("(a?){50}(x+x+)+y", big)`,
		"regex.find":            big + `regex.find("(x+x+)+y", big)`,
		"regex.findAll":         big + `regex.findAll("x", big)`,
		"regex.findAll square":  `regex.findAll("x.*y|x", ("x"):rep(100000))`,
		"regex.replace":         big + `regex.replace("x", big, "$0$0$0$0")`,
		"regex.replace one":     big + `regex.replace("x+", big, ("$0"):rep(100000))`,
		"regex.replace fn":      big + `regex.replace("x", big, function(x) return x end)`,
		"regex.split":           big + `regex.split("x", big)`,
		"regex pattern":         `for i = 1, 1000 do regex.match("((a{" .. i .. "}))", "a") end`,
		"helm.list":             `while true do helm.list() end`,
		"json.decode of itself": `local s = "[]" while true do s = json.encode({json.decode(s), json.decode(s)}) end`,
	} {
		started := time.Now()
		_, err := run(t, modules.Options{}, rt.RuntimeResources{Cpu: 10_000_000, Memory: 64 << 20, Millis: 1000}, script)
		took := time.Since(started)
		if !errors.Is(err, errLimit) {
			t.Errorf("%s: %v", name, clipped(err))
		}
		if took > 10*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}

func clipped(err error) string {
	s := fmt.Sprint(err)
	return s[:min(len(s), 300)]
}

// Aliases of aliases are refused before they become what they stand for.
func TestAliasesCannotExplode(t *testing.T) {
	script := `
	local text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i = 1, 9 do
		text = text .. "a" .. i .. ": &a" .. i .. " [" .. ("*a" .. (i-1) .. ","):rep(10) .. "]\n"
	end
	return yaml.decode(text)`
	started := time.Now()
	if v, err := run(t, modules.Options{}, plenty, script); err == nil || !strings.Contains(err.Error(), "excessive aliasing") {
		t.Error(v, err)
	}
	if took := time.Since(started); took > time.Second {
		t.Error(took)
	}
}

// An honest chart's work is far from the default budget.
func TestHonestWorkFits(t *testing.T) {
	script := `
	local values = {}
	for i = 1, 2000 do values["key" .. i] = {name = "service" .. i, port = 8000 + i, enabled = true, list = {1, 2, "three"}} end
	local text = yaml.encode(values)
	for i = 1, 3 do text = yaml.encode(yaml.decode(text)) end
	local j = json.encode(values, 2)
	for i = 1, 3 do j = json.encode(json.decode(j)) end
	text = regex.replace("service(\\d+)", text, "svc-$1")
	return #regex.findAll("svc-\\d+", text), #text > 100000`
	started := time.Now()
	got, err := run(t, modules.Options{}, plenty, script)
	if err != nil || say(got) != "[2000 true]" {
		t.Fatal(say(got), err)
	}
	t.Log(time.Since(started))
}
