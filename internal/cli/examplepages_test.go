// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/format"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/testdeps"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// otherTests are the pages of docs/ whose examples other tests run.
var otherTests = map[string]string{
	"pipelines.md":          "TestPipelines",
	"schema.md":             "TestGuideExamples of chart/schema has the schemas, TestExamplePages the commands",
	"scripts.md":            "TestGuide",
	"template-functions.md": "TestTemplateFunctions of engine",
}

// drawn are the languages of blocks that the site draws.
var drawn = []string{"bars", "boxes", "steps"}

// TestExamplePages runs the examples of every page of docs/ that no other test runs, in the order of the
// page, in one directory. How they are written:
//
//   - a block "console" whose first line begins with "$ " holds commands and what they print, standard error
//     included; "..." stands for anything, alone on a line for any lines, and blanks count once. Without "$ "
//     it is a script, of which each command must succeed;
//   - a block after a line with only a file's name in backquotes is written to that file;
//   - a comment before a block says what else it is: <!-- file: PATH --> is written to that file,
//     <!-- append: PATH --> added to it, <!-- shows: COMMAND --> is what that command prints, and
//     <!-- not run: REASON --> cannot be run here; its syntax is checked;
//   - <!-- run: COMMANDS --> runs commands that a reader does not see.
//
// Blocks of two words (yaml values.yaml) are other tests'. The page may say <!-- needs: cluster -->, gpg or
// go: $ROOT is the repository then. The hosts of example.com answer: charts.example.com with the
// files of www/charts, charts.internal.example.com with those of www/charts.internal,
// registry.example.com and registry.internal.example.com as registries. key.asc has the secret
// keys of releases@example.com and maintainers@example.com. -update writes what is printed now into the pages.
func TestExamplePages(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(files) < 20 {
		t.Fatalf("got %d pages, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if by := otherTests[name]; by != "" && !strings.Contains(by, "TestExamplePages") {
			continue
		}
		t.Run(strings.TrimSuffix(name, ".md"), func(t *testing.T) {
			p := parseExamples(page(t, name))
			for _, problem := range p.problems {
				t.Errorf("docs/%s:%s", name, problem)
			}
			if !slices.ContainsFunc(p.examples, example.runs) {
				return
			}
			if testing.Short() {
				t.Skip("takes more than a second")
			}
			if runtime.GOOS != "linux" {
				t.Skip("the hosts of the examples are trusted by SSL_CERT_FILE, which this system does not ask")
			}
			r := newRunner(t, name, p.needs)
			for _, e := range p.examples {
				r.run(t, e)
			}
			if *update {
				r.rewrite(t, file)
			}
		})
	}
}

// An example is a block, or hidden commands, of a page.
type example struct {
	line     int
	kind     string // "run", "file", "append", "shows", "not run", or "" for what the language says
	argument string // of the comment
	lang     string
	lines    []string
}

func (e example) runs() bool { return e.kind != "not run" }

type examplePage struct {
	needs    string // "cluster", "gpg", "go" or ""
	examples []example
	problems []string
}

var exampleComment = regexp.MustCompile(`(?s)^<!-- (run|file|append|shows|not run|needs):\s(.*?)\s?-->$`)

// parseExamples returns the examples of a page, and the blocks of code that are none.
func parseExamples(text string) (p examplePage) {
	lines := strings.Split(text, "\n")
	var next example
	file := "" // that the next block is written to
	for i := 0; i < len(lines); i++ {
		trimmed := strings.TrimSpace(lines[i])
		switch {
		case strings.HasPrefix(trimmed, "<!-- "):
			comment := trimmed
			for !strings.HasSuffix(comment, "-->") && i+1 < len(lines) {
				i++
				comment += "\n" + lines[i]
			}
			m := exampleComment.FindStringSubmatch(comment)
			switch {
			case m == nil:
			case m[1] == "needs":
				p.needs = m[2]
			case m[1] == "run":
				p.examples = append(p.examples, example{line: i + 1, kind: "run", lines: strings.Split(m[2], "\n")})
			default:
				next = example{kind: m[1], argument: m[2]}
			}
		case strings.HasPrefix(trimmed, "```"):
			indent := lines[i][:strings.Index(lines[i], "```")]
			next.line, next.lang = i+1, trimmed[3:]
			if next.kind == "" && file != "" {
				next.kind, next.argument = "file", file
			}
			file = ""
			for i++; i < len(lines) && lines[i] != indent+"```"; i++ {
				next.lines = append(next.lines, strings.TrimPrefix(lines[i], indent))
			}
			if !slices.Contains(drawn, next.lang) && !strings.Contains(next.lang, " ") {
				if problem := next.check(); problem != "" {
					p.problems = append(p.problems, fmt.Sprintf("%d: %s", next.line, problem))
				}
				p.examples = append(p.examples, next)
			}
			next = example{}
		case fileName.MatchString(trimmed):
			file = fileName.FindStringSubmatch(trimmed)[1]
		case strings.HasPrefix(lines[i], "    ") && i > 0 && lines[i-1] == "" && next.line == 0:
			if !regexp.MustCompile(`^ +([-*]|\d+\.) `).MatchString(lines[i]) && !inList(lines[:i]) {
				p.problems = append(p.problems, fmt.Sprintf("%d: an indented block of code: write a fence with a language", i+1))
			}
		}
	}
	return p
}

// inList reports whether the paragraph that follows lines belongs to an item of a list.
func inList(lines []string) bool {
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i] != "" && !strings.HasPrefix(lines[i], " ") {
			return regexp.MustCompile(`^([-*]|\d+\.) `).MatchString(lines[i])
		}
	}
	return false
}

// check returns what is wrong with an example before it is run.
func (e example) check() string {
	switch {
	case e.kind == "" && e.lang != "console":
		return fmt.Sprintf("this %s block is neither a console session nor a file nor what a command shows", e.lang)
	case e.kind == "not run" && len(e.argument) < 10:
		return "say why it is not run"
	case e.kind == "not run":
		return e.syntax()
	}
	return ""
}

// syntax checks an example that is not run as far as that goes.
func (e example) syntax() string {
	text := strings.Join(e.lines, "\n") + "\n"
	var err error
	switch e.lang {
	case "yaml":
		var v any
		err = yaml.Unmarshal([]byte(text), &v)
	case "go":
		_, err = format.Source([]byte(text))
	case "console", "sh":
		var out []byte
		cmd := exec.Command("sh", "-n")
		cmd.Stdin = strings.NewReader(text)
		if out, err = cmd.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// runner runs the examples of a page.
type runner struct {
	page, dir string
	env       []string
	namespace string
	updates   map[int][]string // by the number of lines before a block: what it shows now
	sizes     map[int]int      // by the same: how many lines it has
}

func newRunner(t *testing.T, page, needs string) *runner {
	t.Helper()
	r := &runner{page: page, dir: t.TempDir(), updates: map[int][]string{}, sizes: map[int]int{}}
	hosts := serveHosts(t, filepath.Join(r.dir, "home"), &pageHosts{dir: r.dir, registries: map[string]*exampleRegistry{}})
	writePageKeys(t, r.dir)
	r.env = exampleEnv(r.dir, append(hosts, "TOKEN=secret")...)
	switch needs {
	case "cluster":
		r.namespace = makeNamespace(t, strings.TrimSuffix(page, ".md"))
		r.env = append(r.env, "KUBECONFIG="+os.Getenv(apiserver.Kubeconfig), "HELM_NAMESPACE="+r.namespace)
		return r
	case "gpg":
		home := gpgHome(t)
		r.env = append(r.env, "GNUPGHOME="+home)
	case "go":
		root, err := filepath.Abs(filepath.Join("..", ".."))
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPROXY").Output()
		if err != nil {
			t.Fatal(err)
		}
		paths := strings.Split(strings.TrimSpace(string(out)), "\n")
		r.env = append(r.env, "ROOT="+root, "GOCACHE="+paths[0], "GOMODCACHE="+paths[1], "GOPROXY="+paths[2])
	}
	return r
}

// pageHosts answers for all hosts: registry.* are registries, NAME.example.com has the files of
// www/NAME.
type pageHosts struct {
	dir        string
	mu         sync.Mutex
	registries map[string]*exampleRegistry
}

func (h *pageHosts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	name := strings.TrimSuffix(host, ".example.com")
	if !strings.HasPrefix(name, "registry") {
		http.FileServer(http.Dir(filepath.Join(h.dir, "www", name))).ServeHTTP(w, r)
		return
	}
	h.mu.Lock()
	registry := h.registries[name]
	if registry == nil {
		registry = &exampleRegistry{}
		h.registries[name] = registry
	}
	h.mu.Unlock()
	registry.ServeHTTP(w, r)
}

// writePageKeys writes key.asc, with the secret keys of maintainers@example.com and
// releases@example.com without a passphrase, and their public keys in maintainers.asc and
// releases.asc.
func writePageKeys(t *testing.T, dir string) {
	t.Helper()
	maintainers := newKey(t, "Maintainers", "maintainers@example.com", filepath.Join(dir, "maintainers.asc"))
	releases := newKey(t, "Releases", "releases@example.com", filepath.Join(dir, "releases.asc"))
	writeArmor(t, filepath.Join(dir, "key.asc"), openpgp.PrivateKeyType, func(w io.Writer) error {
		return errors.Join(maintainers.SerializePrivate(w, nil), releases.SerializePrivate(w, nil))
	})
}

// gpgHome returns a directory for GnuPG, with a short name, since it makes a socket there.
func gpgHome(t *testing.T) string {
	t.Helper()
	testdeps.Program(t, "gpg")
	home, err := os.MkdirTemp("", "gpg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd := exec.Command("gpgconf", "--kill", "all")
		cmd.Env = append(os.Environ(), "GNUPGHOME="+home)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("ending gpg's agent: %v %s", err, out)
		}
		os.RemoveAll(home)
	})
	return home
}

// exampleNamespaces counts the namespaces of this process.
var exampleNamespaces atomic.Int64

// makeNamespace makes a namespace for the test, which is skipped without a cluster.
func makeNamespace(t *testing.T, name string) string {
	t.Helper()
	server := apiserver.Connect(t)
	namespace := fmt.Sprintf("docs-%s-%d-%d", name, os.Getpid(), exampleNamespaces.Add(1))
	body := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": %q}}`, namespace)
	_, status, err := server.Call(t.Context(), http.MethodPost, "/api/v1/namespaces", "", body)
	if err != nil || status >= 300 {
		t.Fatalf("creating the namespace: status %d, %v", status, err)
	}
	t.Cleanup(func() {
		_, status, err := server.Call(context.Background(), http.MethodDelete, "/api/v1/namespaces/"+namespace, "", "")
		if err != nil || status >= 300 {
			t.Errorf("deleting the namespace: status %d, %v", status, err)
		}
	})
	return namespace
}

// run executes an example. It stops the test where an example fails on which others build.
func (r *runner) run(t *testing.T, e example) {
	t.Helper()
	at := fmt.Sprintf("docs/%s:%d", r.page, e.line)
	text := strings.Join(e.lines, "\n") + "\n"
	switch {
	case e.kind == "not run":
	case e.kind == "file":
		filetest.WriteFile(t, filepath.Join(r.dir, filepath.FromSlash(e.argument)), text)
	case e.kind == "append":
		path := filepath.Join(r.dir, filepath.FromSlash(e.argument))
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		filetest.WriteFile(t, path, string(before)+text)
	case e.kind == "shows":
		got, _ := r.shell(e.argument)
		got = ended(got)
		if loosely(text).MatchString(squeeze(got)) {
			return
		}
		r.updates[e.line], r.sizes[e.line] = strings.Split(strings.TrimSuffix(got, "\n"), "\n"), len(e.lines)
		if !*update {
			t.Errorf("%s: %s\nprints\n%s\nnot what the page shows:\n%s", at, e.argument, got, text)
		}
	case e.kind == "" && strings.HasPrefix(e.lines[0], "$ "):
		r.session(t, e, at)
	default:
		if got, err := r.shell("set -e\n" + text); err != nil {
			t.Fatalf("%s: %v of\n%s\n%s", at, err, text, got)
		}
	}
}

// session runs the commands of a console block, and compares what they print.
func (r *runner) session(t *testing.T, e example, at string) {
	t.Helper()
	var now []string
	differs := false
	for _, c := range (block{lines: e.lines}).commands() {
		got, _ := r.shell(c.line)
		got = ended(got)
		now = append(now, "$ "+c.line)
		if loosely(c.output).MatchString(squeeze(got)) {
			got = c.output
		} else if differs = true; !*update {
			t.Fatalf("%s: $ %s\nprints\n%s\nnot what the page shows:\n%s", at, c.line, got, c.output)
		}
		if got != "" {
			now = append(now, strings.Split(strings.TrimSuffix(got, "\n"), "\n")...)
		}
	}
	if differs {
		r.updates[e.line], r.sizes[e.line] = now, len(e.lines)
	}
}

// rewrite has a page show what was printed.
func (r *runner) rewrite(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, at := range slices.Backward(slices.Sorted(maps.Keys(r.updates))) {
		lines = slices.Replace(lines, at, at+r.sizes[at], r.updates[at]...)
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ended returns text with one line end after the last line, and "" as it is.
func ended(text string) string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return ""
	}
	return text + "\n"
}

// moment matches a time, in whose place the pages have one that is always the same.
var moment = regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// shell runs a script, and returns what it prints.
func (r *runner) shell(script string) (string, error) {
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = r.dir, r.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	text := took.ReplaceAllString(moment.ReplaceAllString(out.String(), "2026-03-01T10:00:00Z"), " 1ms")
	if r.namespace != "" {
		text = strings.ReplaceAll(text, r.namespace, "default")
	}
	return text, err
}

// Examples that are not run are found.
func TestExamplePagesAreComplete(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"a block that nothing runs": {"```yaml\na: 1\n```\n", "1: this yaml block is neither a console session nor a file nor what a command shows"},
		"a block in a list":         {"- a\n\n  ```yaml\n  a: 1\n  ```\n", "3: this yaml block is neither a console session nor a file nor what a command shows"},
		"no reason":                 {"<!-- not run: no -->\n```console\ntrue\n```\n", "2: say why it is not run"},
		"broken YAML":               {"<!-- not run: needs a server -->\n```yaml\na: [\n```\n", "2: "},
		"broken shell":              {"<!-- not run: needs a server -->\n```console\nif true\n```\n", "2: exit status 2"},
		"an indented block":         {"text:\n\n    helm list\n", "3: an indented block of code: write a fence with a language"},
		"a picture":                 {"```steps\na\n```\n", ""},
		"a file":                    {"<!-- file: a.yaml -->\n```yaml\na: 1\n```\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(parseExamples(test.text).problems, "\n")
			if (test.want == "") != (got == "") || !strings.HasPrefix(got, test.want) {
				t.Errorf("problems: got %q, want %q", got, test.want)
			}
		})
	}
}
