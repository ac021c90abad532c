// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/engine/modules"
	"github.com/moonhelm/moonhelm/script/wire"
)

// machine is a chart that may do everything, in an empty directory.
func machine(t *testing.T) (modules.Options, *[]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	var printed []string
	return modules.Options{
		Chart:  3,
		Grants: []string{"io", "os"},
		Environ: []string{
			"GREETING=hello", "EMPTY=", "TZ=America/New_York", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(),
		},
		Print: func(line string) error { printed = append(printed, line); return nil },
	}, &printed
}

func TestIO(t *testing.T) {
	o, _ := machine(t)
	for name, text := range map[string]string{
		"three.txt": "one\ntwo\n\nlast", "numbers.txt": " 8080 0x1F -2.5e1 x", "empty.txt": "",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tell(t, o, []story{
		{`local f = io.open("three.txt") return f:read(), f:read("L"), f:read("*l"), f:read("a"), f:read("a"), f:read("l")`,
			`["one" "two\n" "" "last" "" null]`},
		{`return io.open("three.txt"):read(2, 3, 0, "l", 100, 0)`, `["on" "e\nt" "" "wo" "\nlast" null]`},
		{`return io.open("numbers.txt"):read("n", "n", "n", "n")`, `[8080 31 -25.0 null]`},
		{`return io.open("empty.txt"):read("a"), io.open("empty.txt"):read("l"), io.open("empty.txt"):read(0)`, `["" null null]`},
		{`local t = {} for l in io.lines("three.txt") do t[#t + 1] = l end return t`, `["one" "two" "" "last"]`},
		{`local t = {} for a, b in io.open("three.txt"):lines(1, "L") do t[#t + 1] = a .. "|" .. b end return t`, `["o|ne\n" "t|wo\n" "\n|last"]`},
		{`local f = io.open("new.txt", "w") local same = f:write("a", 1, 2.5, "\n") == f f:close() return io.open("new.txt"):read("a")`, `"a12.5\n"`},
		{`local f = io.open("new.txt", "a+") f:write("b") f:seek("set") return f:read("a")`, `"a12.5\nb"`},
		{`local f = io.open("new.txt", "r+") f:read(1) f:write("XX") f:seek("set", 1) return f:read("l"), f:seek(), f:seek("end"), f:seek("cur", -1), f:read("a")`,
			`["XX.5" 6 7 6 "b"]`},
		{`return io.open("nowhere.txt")`, `[null "nowhere.txt: no such file or directory" 2]`},
		{`io.open("three.txt", "rw")`, `error: bad argument #2 to 'io.open' (invalid mode)`},
		{`return io.open("three.txt"):write("x")`, `[null "three.txt: the file is not open for writing" 0]`},
		{`return io.open("new.txt", "w"):read("a")`, `[null "new.txt: the file is not open for reading" 0]`},
		{`io.open("three.txt"):read("x")`, `error: bad argument #1 to 'file:read' (invalid format)`},
		{`io.open("three.txt"):seek("here")`, `error: bad argument #1 to 'file:seek' (set, cur or end expected)`},
		{`io.open("new.txt", "w"):write("a", {})`, `error: bad argument #2 to 'file:write' (text or number expected, got table)`},
		{`io.write("a", {})`, `error: bad argument #2 to 'io.write' (text or number expected, got table)`},
		{`io.lines("nowhere.txt")`, `error: io.lines: open nowhere.txt: no such file or directory`},
		{`local f = io.open("three.txt") return io.type(f), f:close(), io.type(f), io.type(5), tostring(f)`, `["file" true "closed file" null "file (closed)"]`},
		{`local f = io.open("three.txt") f:close() f:read()`, `error: file:read: attempt to use a closed file`},
		{`local f <close> = io.open("three.txt") return tostring(f)`, `"file (three.txt)"`},
		{`local g do local f <close> = io.open("three.txt") g = f end return io.type(g)`, `"closed file"`},
		{`local _ = io.input("three.txt") return io.read(), io.read("L")`, `["one" "two\n"]`},
		{`local _ = io.output("out.txt") io.write("written") io.close() return io.open("out.txt"):read("a")`, `"written"`},
		{`return io.stdin:read("a"), io.read("l"), io.read("n")`, `["" null null]`},
		{`io.stdout:close()`, `error: file:close: stdout cannot be closed`},
		{`local f = io.tmpfile() f:write("tmp") f:seek("set") return f:read("a"), f:close()`, `["tmp" true]`},
		{`return getmetatable(io.stdout), io.stdout:setvbuf("no")`, `[false true]`},
		{`io.stdout.read(5)`, `error: file:read: number is not a file; methods are called with a colon, as in f:read()`},
	})
}

func TestStandardOutputIsPrint(t *testing.T) {
	o, printed := machine(t)
	if _, err := run(t, o, plenty, `io.write("one\ntw") io.write("o\n\n", 3) io.stderr:write("err") io.stderr:flush() io.write("\nend")`); err != nil {
		t.Fatal(err)
	}
	if want := []string{"one", "two", "", "err", "3", "end"}; !reflect.DeepEqual(*printed, want) {
		t.Errorf("%q; want %q", *printed, want)
	}
	*printed = nil
	if _, err := run(t, o, plenty, `io.write(("x"):rep(200000), "\n")`); err != nil {
		t.Fatal(err)
	}
	if got := *printed; len(got) != 4 || len(strings.Join(got, "")) != 200000 {
		t.Errorf("%d lines, %d bytes", len(got), len(strings.Join(got, "")))
	}
	o.Print = func(string) error { return errors.New("there is no more room for output") }
	if v, err := run(t, o, plenty, `return io.write("a\n")`); err != nil || say(v) != `[null "there is no more room for output" 0]` {
		t.Error(say(v), err)
	}
}

func TestOS(t *testing.T) {
	o, _ := machine(t)
	if err := os.WriteFile("a.txt", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tell(t, o, []story{
		{`return os.getenv("GREETING"), os.getenv("EMPTY"), os.getenv("HOME")`, `["hello" "" null]`},
		{`return os.rename("a.txt", "b.txt"), os.remove("b.txt")`, `[true true]`},
		{`return os.remove("b.txt")`, `[null "b.txt: no such file or directory" 2]`},
		{`os.exit(0)`, `error: os.exit: scripts cannot end helm; helm.fail stops the operation`},
		{`return os.setlocale(), os.setlocale("C"), os.setlocale("de_DE")`, `["C" "C" null]`},
		{`os.difftime(10, 4)`, `6.0`},
		{`os.clock() >= 0`, `true`},
		{`os.time() > 1700000000`, `true`},
		{`local n = os.tmpname() local f = io.open(n) f:close() return os.remove(n)`, `true`},

		{`os.date("!%Y-%m-%d %H:%M:%S", 0)`, `"1970-01-01 00:00:00"`},
		{`os.date("%Y-%m-%d %H:%M:%S %z %Z", 0)`, `"1969-12-31 19:00:00 -0500 EST"`},
		{`os.date("!%c|%x|%X|%p|%D|%F|%R|%T|%r", 1700000000)`, `"Tue Nov 14 22:13:20 2023|11/14/23|22:13:20|PM|11/14/23|2023-11-14|22:13|22:13:20|10:13:20 PM"`},
		{`os.date("!%a %A %b %B %h %d %e %H %I %j %m %M %S %y %C %u %w %s %% %n%t|", 1700000000)`,
			`"Tue Tuesday Nov November Nov 14 14 22 10 318 11 13 20 23 20 2 2 1700000000 % \n\t|"`},
		{`os.date("!%G-W%V-%u %g %U %W", 1609459200)`, `"2020-W53-5 20 00 00"`},
		{`os.date("!%Ey %Od", 0)`, `"70 01"`},
		{`os.date("!*t", 86400)`, `{day:2 hour:0 isdst:false min:0 month:1 sec:0 wday:6 yday:2 year:1970}`},
		{`os.date("%Q")`, `error: bad argument #1 to 'os.date' (invalid conversion specifier '%Q')`},
		{`os.date("%Ez")`, `error: bad argument #1 to 'os.date' (invalid conversion specifier '%Ez')`},
		{`os.date("%")`, `error: bad argument #1 to 'os.date' (invalid conversion specifier '%')`},
		{`os.date("%c", 1 << 62)`, `error: bad argument #2 to 'os.date' (time out of bounds)`},
		{`os.time{year = 1970, month = 1, day = 1}`, `61200`},
		{`local t = {year = 2023, month = 14, day = -3, hour = 0} return os.time(t), t.year, t.month, t.day, t.isdst`, `[1706418000 2024 1 28 false]`},
		{`os.time{year = 2023}`, `error: os.time: field 'month' missing in date table`},
		{`os.time{year = 2023, month = "x", day = 1}`, `error: os.time: field 'month' is not an integer`},
		{`os.time{year = 1 << 40, month = 1, day = 1}`, `error: os.time: field 'year' is out-of-bound`},
	})
}

func TestCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of a Unix shell")
	}
	o, printed := machine(t)
	tell(t, o, []story{
		{`os.execute()`, `true`},
		{`return os.execute("echo out; echo err >&2; echo $GREETING; read x || echo no input")`, `[true "exit" 0]`},
		{`return os.execute("exit 3")`, `[null "exit" 3]`},
		{`return os.execute("kill -9 $$")`, `[null "signal" 9]`},
		{`local p = io.popen("echo one; echo two; echo aside >&2; exit 2") return p:read("l"), p:read("a"), p:close()`, `["one" "two\n" null "exit" 2]`},
		{`local p = io.popen("cat > got.txt", "w") p:write("sent") return p:close(), io.open("got.txt"):read("a")`, `[true "sent"]`},
		{`local t = {} for l in io.popen("printf 'a\nb'"):lines() do t[#t + 1] = l end return t`, `["a" "b"]`},
		{`io.popen("true", "rw")`, `error: bad argument #2 to 'io.popen' (invalid mode)`},
	})
	if want := []string{"out", "err", "hello", "no input", "aside"}; !reflect.DeepEqual(*printed, want) {
		t.Errorf("%q; want %q", *printed, want)
	}
}

// A command that a script leaves behind ends with the scripts.
func TestCommandsLeftOpenEnd(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of a Unix shell")
	}
	o, _ := machine(t)
	started := time.Now()
	if _, err := run(t, o, plenty, `kept = io.popen("exec sleep 30")`); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Error(took)
	}
}

func TestReadingEndsWithTheBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	o, _ := machine(t)
	big, err := os.Create("big")
	if err != nil {
		t.Fatal(err)
	}
	defer big.Close()
	if err := big.Truncate(1 << 40); err != nil {
		t.Skip("this file system has no files with holes")
	}
	for _, script := range []string{
		`io.open("big"):read("a")`, `io.open("big"):read("l")`, `io.open("big"):read("L")`, `io.open("big"):read(1 << 62)`,
		`for l in io.lines("big") do end`, `for b in io.lines("big", 4096) do end`, `io.open("big"):read("n")  while true do io.open("big") end`,
		`for i = 1, 1e9 do io.open("big", "r+"):write(("x"):rep(1000000)) end`,
		`local n = 0 while true do io.write(("x"):rep(100000), "\n") end`,
	} {
		started := time.Now()
		if _, err := run(t, o, rt.RuntimeResources{Cpu: 10_000_000, Memory: 32 << 20, Millis: 1000}, script); !errors.Is(err, errLimit) && !strings.Contains(fmt.Sprint(err), "too many open files") {
			t.Errorf("%s: %v", script, clipped(err))
		}
		if took := time.Since(started); took > 10*time.Second {
			t.Errorf("%s took %v", script, took)
		}
	}
}

func TestNetwork(t *testing.T) {
	var asked []string
	o := modules.Options{Chart: 3, Grants: []string{"network"}, Ask: func(kind wire.Kind, body map[string]any) (map[string]any, error) {
		asked = append(asked, kind.String()+" "+say(body))
		if body["url"] == "https://refused.example" || body["name"] == "nobody.example" {
			return nil, errors.New("connection refused")
		}
		if kind == wire.Host {
			return map[string]any{"addresses": []any{"192.0.2.1", "2001:db8::1"}}, nil
		}
		return map[string]any{"status": int64(404), "headers": map[string]any{"Content-Type": "text/plain"}, "body": "not\xff here"}, nil
	}}
	tell(t, o, []story{
		{`http.get("https://example.com/")`, `{body:"not\xff here" headers:{Content-Type:"text/plain"} status:404}`},
		{`http.get("https://example.com/", {headers = {Accept = "text/plain"}, timeout = 2.5}).status`, `404`},
		{`http.post("https://example.com/", "data", {headers = {}}).status`, `404`},
		{`http.request{method = "PUT", url = "https://example.com/", body = "data", timeout = 1}.status`, `404`},
		{`net.lookup("example.com")`, `["192.0.2.1" "2001:db8::1"]`},
		{`http.get("https://refused.example")`, `error: http.get: connection refused`},
		{`net.lookup("nobody.example")`, `error: net.lookup: connection refused`},
		{`http.get()`, `error: bad argument #1 to 'http.get' (text expected, got nothing)`},
		{`http.get("u", {timeout = 0})`, `error: bad argument #2 to 'http.get' (timeout is a number of seconds above 0)`},
		{`http.get("u", {headers = {a = 1}})`, `error: bad argument #2 to 'http.get' (headers is a table of text by name)`},
		{`http.get("u", {insecure = true})`, `error: bad argument #2 to 'http.get' (no such field: insecure; there are [headers timeout])`},
		{`http.request{}`, `error: bad argument #1 to 'http.request' (a request needs a url)`},
		{`http.request{url = 1}`, `error: bad argument #1 to 'http.request' (url is text)`},
		{`http.request("u")`, `error: bad argument #1 to 'http.request' (table expected, got string)`},
	})
	want := []string{
		`http {chart:3 method:"GET" url:"https://example.com/"}`,
		`http {chart:3 headers:{Accept:"text/plain"} method:"GET" timeout:2500 url:"https://example.com/"}`,
		`http {body:"data" chart:3 headers:{} method:"POST" url:"https://example.com/"}`,
		`http {body:"data" chart:3 method:"PUT" timeout:1000 url:"https://example.com/"}`,
		`host {chart:3 name:"example.com"}`,
		`http {chart:3 method:"GET" url:"https://refused.example"}`,
		`host {chart:3 name:"nobody.example"}`,
	}
	if !reflect.DeepEqual(asked, want) {
		t.Errorf("asked %s\nwant %s", strings.Join(asked, "\n"), strings.Join(want, "\n"))
	}
	o.Ask = nil
	tell(t, o, []story{{`http.get("u")`, `error: http.get: there is no network here`}})
}

// What a host answers is charged too.
func TestAnswersAreCharged(t *testing.T) {
	o := modules.Options{Grants: []string{"network"}, Ask: func(wire.Kind, map[string]any) (map[string]any, error) {
		return map[string]any{"status": int64(200), "body": strings.Repeat("x", 10<<20)}, nil
	}}
	if _, err := run(t, o, rt.RuntimeResources{Memory: 4 << 20}, `http.get("u")`); !errors.Is(err, errLimit) {
		t.Error(err)
	}
	if _, err := run(t, o, rt.RuntimeResources{Memory: 32 << 20}, `http.post("u", ("x"):rep(20000000))`); !errors.Is(err, errLimit) {
		t.Error(err)
	}
}

func TestTemporaryFilesAreRemoved(t *testing.T) {
	o, _ := machine(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	if _, err := run(t, o, plenty, `local f = io.tmpfile() f:write("x") kept = f`); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
		t.Error(left)
	}
}
