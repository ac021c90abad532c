// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/moonhelm/moonhelm/script/wire"
)

// ran is how a program has run.
type ran struct {
	code     int
	err      error
	out, say string
}

// runProgram runs main.lua, whose text is the body of main, unless it has one.
func runProgram(t *testing.T, p Program, text string, more ...string) ran {
	t.Helper()
	if !strings.Contains(text, "function main") {
		text = "function main(args) " + text + "\nend"
	}
	files := fstest.MapFS{"main.lua": {Data: []byte(text)}}
	for i := 0; i < len(more); i += 2 {
		files[more[i]] = &fstest.MapFile{Data: []byte(more[i+1])}
	}
	var out, say bytes.Buffer
	if p.Name == "" {
		p.Name = "stats"
	}
	p.Files, p.Out, p.Err = files, &out, &say
	code, err := p.Run()
	return ran{code, err, out.String(), say.String()}
}

func TestProgramsHaveStreamsAndArguments(t *testing.T) {
	got := runProgram(t, Program{Args: []string{"a b", "", "--x=1"}, In: strings.NewReader("one\ntwo\n3 rest")}, `
		print(args[0], #args, args[1], args[2], args[3])
		print(io.read(), io.read("L"), io.read("n"), io.stdin:read("a"), io.read())
		io.write("w", 1, "\n"); io.stdout:write("x\n"); io.stderr:write("oops\n")
		for _ in io.lines() do error("there is more") end`)
	want := ran{0, nil, "stats\t3\ta b\t\t--x=1\none\ttwo\n\t3\t rest\tnil\nw1\nx\n", "oops\n"}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestExitCodesOfPrograms(t *testing.T) {
	for text, want := range map[string]int{
		"":                         0,
		"return":                   0,
		"return 0":                 0,
		"return 7":                 7,
		"return 3.0":               3,
		"return true":              0,
		"return false":             1,
		"os.exit()":                0,
		"os.exit(9)":               9,
		"os.exit(false)":           1,
		"os.exit(true)":            0,
		"pcall(os.exit, 5)":        5,
		"pcall(pcall, os.exit, 5)": 5,
		"local f <close> = io.tmpfile(); for _ in pairs({1}) do os.exit(6) end": 6,
		`table.sort({2, 1}, function() os.exit(4) end)`:                         4,
		"os.exit(2) function main() end":                                        2,
	} {
		if got := runProgram(t, Program{}, text+" "); got.code != want || got.err != nil {
			t.Errorf("%s: ended with %d and %v, want %d", text, got.code, got.err, want)
		}
	}
	for text, want := range map[string]string{
		"return 256":   "main returned 256; it returns the exit code, a number from 0 to 255, or nothing",
		"return -1":    "main returned -1",
		"return 'yes'": "main returned yes",
		"return {}":    "main returned table: ",
	} {
		if got := runProgram(t, Program{}, text); got.code != 1 || got.err == nil || !strings.HasPrefix(got.err.Error(), want) {
			t.Errorf("%s: ended with %d and %v", text, got.code, got.err)
		}
	}
}

func TestErrorsOfProgramsHaveAPlace(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"an error", "\n\nerror('no')", "main.lua:3: no"},
		{"a missing field", "local t\nreturn t.x", `main.lua:2: t is nil, so it has no "x"`},
		{"an error of a table", "error({message = 'no'})", "main.lua:1: no"},
		{"another file's", "require('lib.deep').fail()", "lib/deep.lua:2: deep"},
		{"no Lua", "function main( return end", "main.lua:1: "},
		{"no Lua elsewhere", "require('broken')", "broken.lua:1: "},
		{"no main", "function main2() end", "main.lua defines no function main(args)"},
		{"helm.fail", "helm.fail('there is no chart here')", "there is no chart here"},
		{"helm.fail that was caught", "pcall(helm.fail, 'x'); error('y')", "main.lua:1: y"},
		{"the same words", "pcall(helm.fail, 'x'); local function f() error('no', 0) end f()", "main.lua:1: no"},
		{"a file that is not there", "require('lib.dep')", `main.lua:1: cannot require "lib.dep": the plugin has no lib/dep.lua`},
		{"a file outside", "require('../secret')", `main.lua:1: cannot require "../secret": files of directories are required with a dot`},
		{"a file outside, with dots", "require('...secret')", `cannot require "...secret": the plugin has no ///secret.lua`},
		{"an absolute path", "require('/etc/passwd')", `cannot require "/etc/passwd"`},
		{"what is not Lua", "require('data.json')", `the plugin has no data/json.lua`},
		{"a question nobody answers", "http.get('http://127.0.0.1')", "there is no one to ask here"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := runProgram(t, Program{}, tt.text, "lib/deep.lua", "return {fail = function()\nerror('deep') end}", "broken.lua", "x x", "data.json", "{}")
			var failed *ProgramError
			if !errors.As(got.err, &failed) || got.code != 1 || !strings.Contains(got.err.Error(), tt.want) {
				t.Errorf("ended with %d and %v, want %s", got.code, got.err, tt.want)
			}
		})
	}
	got := runProgram(t, Program{}, "local function f() error('x') end\nf()")
	var failed *ProgramError
	if !errors.As(got.err, &failed) || !strings.Contains(failed.Traceback, "stats/main.lua:2: in function 'main'") {
		t.Errorf("traceback: %+v", failed)
	}
}

// What was written before an error, or before the end, arrives.
func TestProgramsLoseNothing(t *testing.T) {
	for text, code := range map[string]int{"error('x')": 1, "os.exit(3)": 3, "return 0": 0} {
		got := runProgram(t, Program{}, "io.write(('x'):rep(100000)) "+text)
		if got.code != code || len(got.out) != 100000 {
			t.Errorf("%s: %d bytes arrived, and %d", text, len(got.out), got.code)
		}
	}
}

func TestProgramsHaveTheLibraries(t *testing.T) {
	dir := t.TempDir()
	got := runProgram(t, Program{
		Args: []string{dir}, Environ: []string{"HELM_NAMESPACE=shop"},
		Ask: func(kind wire.Kind, body map[string]any) (map[string]any, error) {
			if kind == wire.HTTP {
				return map[string]any{"status": int64(200), "headers": map[string]any{}, "body": body["url"]}, nil
			}
			return map[string]any{"value": map[string]any{"kind": body["kind"]}}, nil
		},
	}, `
		print(os.getenv("HELM_NAMESPACE"), os.getenv("HOME"))
		local f <close> = assert(io.open(args[1] .. "/x", "w"))
		f:write("data"); f:close()
		for line in io.lines(args[1] .. "/x") do print(line) end
		print(yaml.decode("a: [1]").a[1], json.encode{b = true}, semver.compare("1.2.3", "1.10.0"), regex.match("^a", "ab"), base64.encode("x"))
		print(http.get("http://127.0.0.1/x").body, kube.lookup("v1", "Pod", "a", "b").kind)
		print(events, subcharts, template, load, coroutine)`)
	want := "shop\tnil\ndata\n1\t{\"b\":true}\t-1\ttrue\teA==\nhttp://127.0.0.1/x\tPod\nnil\tnil\tnil\tnil\tnil\n"
	if got.err != nil || got.out != want {
		t.Errorf("%v\ngot  %q\nwant %q", got.err, got.out, want)
	}
}

// What a chart's scripts do not have: those of a chart cannot end helm.
func TestProgramsAloneHaveHelmRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("helm is a shell script here")
	}
	helm := filepath.Join(t.TempDir(), "helm")
	script := `#!/bin/sh
case $1 in
fail) echo "Error: no chart" >&2; exit 4;;
quiet) exit 5;;
cat) echo "WARNING: old" >&2; cat;;
*) echo "$# $1 $2 $WHO";;
esac
`
	if err := os.WriteFile(helm, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	got := runProgram(t, Program{Helm: helm, Environ: []string{"WHO=me", "PATH=" + os.Getenv("PATH")}, In: strings.NewReader("from the user")}, `
		print(helm.run{"cat"})
		io.write("first\n")
		io.write(helm.run{"a b", 2, "$HOME"})
		print(helm.run{"fail"})
		print(helm.run{"quiet", "x"})
		print(helm.run{"cat", input = "from the plugin"})
		print(pcall(helm.run, {"a", {}}))
		print(pcall(helm.run, {"a", stdin = "x"}))
		print(pcall(helm.run, "a"))
		print(os.execute("echo direct; exit 3"))`)
	const form = `helm.run takes a list of texts and numbers: helm.run{"template", "web", "./web", input="..."})`
	want := "from the user\nfirst\n3 a b 2 me\nnil\tno chart\t4\nnil\thelm quiet x: exit status 5\t5\nfrom the plugin\n" +
		"false\tstats/main.lua:8: bad argument #1 to 'helm.run' (argument 2 is a table value; " + form + "\n" +
		"false\tstats/main.lua:9: bad argument #1 to 'helm.run' (there is a field stdin; " + form + "\n" +
		"false\tstats/main.lua:10: bad argument #1 to 'helm.run' (table expected, got string)\n" +
		"direct\nnil\texit\t3\n"
	if got.err != nil || got.out != want || got.say != "WARNING: old\nWARNING: old\n" {
		t.Errorf("%v\ngot  %s\nwant %s\nit said %q", got.err, got.out, want, got.say)
	}
	got = runProgram(t, Program{}, `return helm.run{"version"}`)
	if got.err == nil || !strings.Contains(got.err.Error(), "it is not known where helm is") {
		t.Errorf("without a helm: %v", got.err)
	}
}

// No limit on time or on what is printed, and none on memory that is given back.
func TestProgramsMayTakeTheirTime(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes its time")
	}
	got := runProgram(t, Program{}, `
		local n = 0
		for i = 1, 3e6 do local t = {i}; n = n + #t end
		for i = 1, 40 do io.write(("x"):rep(100000)) end
		io.write(n)`)
	if got.err != nil || len(got.out) != 4000000+len("3000000") {
		t.Errorf("%v, %d bytes", got.err, len(got.out))
	}
}
