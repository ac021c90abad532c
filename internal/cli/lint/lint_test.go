// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/peertest"
	"github.com/moonhelm/moonhelm/internal/term"
)

var update = flag.Bool("update", false, "accept what is printed now, and Helm's exit codes where MOONHELM_PEER names it")

// A suite is a txtar file with entries called CASE/...: the charts, the expected output ("want"),
// and "case" with the arguments, Helm's exit codes without and with --strict ("peer 0 1"), and
// Moonhelm's if they differ on purpose ("ours 0 1"), with the reason ("because ...").
type testCase struct {
	name    string
	args    []string
	peer    [2]int
	ours    *[2]int
	because string
	files   []txtar.File // without "case" and "want"
	want    string
}

func (c *testCase) codes() [2]int {
	if c.ours != nil {
		return *c.ours
	}
	return c.peer
}

// TestSuites lints charts with all known mistakes.
func TestSuites(t *testing.T) {
	for _, suite := range suites(t) {
		cases := read(t, suite)
		t.Run(strings.TrimSuffix(filepath.Base(suite), ".txtar"), func(t *testing.T) {
			for i := range cases {
				c := &cases[i]
				t.Run(c.name, func(t *testing.T) {
					dir := unpack(t, c)
					out, code := runOnce(t, c.args)
					_, strict := runOnce(t, append([]string{"--strict"}, c.args...))
					out = heads(strings.ReplaceAll(out, dir, "$DIR"))
					if *update {
						c.want = out
						return
					}
					if got := [2]int{code, strict}; got != c.codes() {
						t.Errorf("exit codes (plain, strict) are %v, want %v; it printed\n%s", got, c.codes(), out)
					}
					if out != c.want {
						t.Errorf("it printed\n%s\nwant\n%s", out, c.want)
					}
				})
			}
		})
		if *update {
			write(t, suite, cases)
		}
	}
}

// TestPeer compares the exit codes in the suites with Helm's.
func TestPeer(t *testing.T) {
	bin := os.Getenv("MOONHELM_PEER")
	if bin == "" {
		t.Skip("MOONHELM_PEER does not name a helm binary to compare with")
	}
	for _, suite := range suites(t) {
		cases := read(t, suite)
		for i := range cases {
			c := &cases[i]
			t.Run(c.name, func(t *testing.T) {
				unpack(t, c)
				got := [2]int{peer(t, bin, c.args), peer(t, bin, append([]string{"--strict"}, c.args...))}
				if *update {
					c.peer = got
				}
				if got != c.peer {
					t.Errorf("Helm exits with %v, the suite says %v", got, c.peer)
				}
			})
		}
		if *update {
			write(t, suite, cases)
		}
	}
}

// TestPeerOnCharts lints real charts with Moonhelm and Helm. MOONHELM_CORPUS is a directory of
// charts.
func TestPeerOnCharts(t *testing.T) {
	bin, corpus := os.Getenv("MOONHELM_PEER"), os.Getenv("MOONHELM_CORPUS")
	if bin == "" || corpus == "" {
		t.Skip("MOONHELM_PEER and MOONHELM_CORPUS do not name a helm binary and a directory of charts")
	}
	charts, err := filepath.Glob(filepath.Join(corpus, "*", "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range charts {
		dir := filepath.Dir(c)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			for _, flags := range [][]string{nil, {"--strict"}, {"--with-subcharts"}, {"--kube-version", "1.20"}} {
				args := append(slices.Clone(flags), dir)
				out, ours := runOnce(t, args)
				if theirs := peer(t, bin, args); ours != theirs {
					t.Errorf("%v: exit code %d, Helm's is %d; output\n%s", flags, ours, theirs, out)
				}
			}
		})
	}
}

// heads drops the continuation lines of findings, such as a template's excerpt.
func heads(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "\t") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func suites(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(found) == 0 {
		t.Fatalf("there are no suites in testdata (%v)", err)
	}
	for i, f := range found {
		if found[i], err = filepath.Abs(f); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func read(t *testing.T, suite string) []testCase {
	t.Helper()
	a, err := txtar.ParseFile(suite)
	if err != nil {
		t.Fatal(err)
	}
	var cases []testCase
	for _, f := range a.Files {
		name, rest, _ := strings.Cut(f.Name, "/")
		if len(cases) == 0 || cases[len(cases)-1].name != name {
			cases = append(cases, testCase{name: name})
		}
		c := &cases[len(cases)-1]
		switch rest {
		case "case":
			c.parse(t, string(f.Data))
		case "want":
			c.want = string(f.Data)
		default:
			c.files = append(c.files, txtar.File{Name: rest, Data: f.Data})
		}
	}
	return cases
}

func (c *testCase) parse(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "args":
			c.args = strings.Fields(rest)
		case "peer":
			scan(t, rest, &c.peer)
		case "ours":
			c.ours = new([2]int)
			scan(t, rest, c.ours)
		case "because":
			c.because = rest
		default:
			t.Fatalf("case %s: unknown word %q", c.name, word)
		}
	}
}

func scan(t *testing.T, text string, codes *[2]int) {
	t.Helper()
	if _, err := fmt.Sscan(text, &codes[0], &codes[1]); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, suite string, cases []testCase) {
	t.Helper()
	var a txtar.Archive
	for _, c := range cases {
		var b strings.Builder
		fmt.Fprintf(&b, "args %s\npeer %d %d\n", strings.Join(c.args, " "), c.peer[0], c.peer[1])
		if c.ours != nil {
			fmt.Fprintf(&b, "ours %d %d\nbecause %s\n", c.ours[0], c.ours[1], c.because)
		}
		a.Files = append(a.Files, txtar.File{Name: c.name + "/case", Data: []byte(b.String())})
		for _, f := range c.files {
			a.Files = append(a.Files, txtar.File{Name: c.name + "/" + f.Name, Data: f.Data})
		}
		a.Files = append(a.Files, txtar.File{Name: c.name + "/want", Data: []byte(c.want)})
	}
	if err := os.WriteFile(suite, txtar.Format(&a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// unpack writes the case's files to a directory and changes to it.
func unpack(t *testing.T, c *testCase) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range c.files {
		filetest.WriteFile(t, filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data))
	}
	t.Chdir(dir)
	return dir
}

// runOnce runs the command and returns its standard output and exit code.
func runOnce(t *testing.T, args []string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	f := cmdutil.New(term.Streams{Out: &out, Err: new(bytes.Buffer), Getenv: func(string) string { return "" }})
	cmd := New(f)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	f.Settings.Bind(cmd.PersistentFlags())
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(context.Background()); err != nil {
		return out.String() + "Error: " + err.Error() + "\n", 1
	}
	return out.String(), 0
}

func peer(t *testing.T, bin string, args []string) int {
	t.Helper()
	c := peertest.Command{Bin: bin, Args: append([]string{"lint"}, args...)}
	for _, arg := range args {
		if filepath.IsAbs(arg) {
			c.Reads = append(c.Reads, arg)
		}
	}
	if c.Reads == nil {
		var err error
		if c.Dir, err = os.Getwd(); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	return answer.Code
}
