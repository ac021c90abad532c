// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// client is an editor with one session.
type client struct {
	*testing.T
	dir  string
	conn *jsonrpc2.Conn
	out  io.Closer
	done chan error

	mu    sync.Mutex
	found map[string][]Diagnostic // by path in dir
	news  chan struct{}
}

// chartFiles are the chart that the tests edit. It has a subchart and a script.
var chartFiles = map[string]string{
	"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\nappVersion: \"2\"\nicon: https://example.com/x.png\n" +
		"dependencies:\n- {name: db, version: 1.x.x, repository: \"\"}\n",
	"values.yaml": "image:\n  # -- Where the image comes from\n  repository: nginx\n  tag: \"1\"\n" +
		"hosts:\n- name: a\n  port: 80\ndb:\n  size: 2\nlevel: info\n",
	"values.schema.yaml":     "properties:\n  level:\n    enum: [debug, info]\n  debug: {type: boolean}\n",
	"templates/_helpers.tpl": "{{/* The labels of all objects. */}}\n{{- define \"web.labels\" -}}\napp: {{ .Release.Name }}\n{{- end }}\n",
	"templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n" +
		"  labels: {{- include \"web.labels\" . | nindent 4 }}\ndata:\n  image: {{ .Values.image.repository }}:{{ .Values.image.tag }}\n" +
		"  level: {{ .Values.level | quote }}\n  debug: {{ .Values.debug | quote }}\n" +
		"{{- range $i, $h := .Values.hosts }}\n  host{{ $i }}: {{ $h.name }}-{{ .port }}\n{{- end }}\n",
	"charts/db/Chart.yaml":         "apiVersion: v2\nname: db\nversion: 1.0.0\nicon: https://example.com/x.png\n",
	"charts/db/values.yaml":        "# Gigabytes\nsize: 1\n",
	"charts/db/templates/pvc.yaml": "# {{ .Values.size }}\n",
	"ext/lua/chart.lua":            "local util = require(\"util\")\nevents.on(\"pre-render\", function(c)\n  local v = c.values\n  v.level = util.level(v.image.tag)\nend)\n",
	"ext/lua/util.lua":             "return {level = function(s) return \"info\" end}\n",
}

func newClient(t *testing.T) *client {
	t.Helper()
	c := &client{T: t, dir: filepath.Join(t.TempDir(), "web"), done: make(chan error, 1), found: map[string][]Diagnostic{},
		news: make(chan struct{}, 100)}
	for name, text := range chartFiles {
		filetest.WriteFile(t, filepath.Join(c.dir, name), text)
	}
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	go func() {
		c.done <- Server{Delay: time.Millisecond}.Serve(context.Background(), serverIn, serverOut)
		_ = serverOut.Close()
	}()
	stream := jsonrpc2.NewBufferedStream(streams{clientIn, clientOut}, jsonrpc2.VSCodeObjectCodec{})
	c.out = clientOut
	c.conn = jsonrpc2.NewConn(context.Background(), stream, jsonrpc2.HandlerWithError(c.notice))
	t.Cleanup(func() { _ = c.conn.Close(); _ = clientOut.Close(); _ = clientIn.Close() })
	c.ask("initialize", map[string]any{"rootUri": uriOf(c.dir)}, nil)
	c.notify("initialized", map[string]any{})
	return c
}

func (c *client) notice(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	var p publishDiagnostics
	if err := json.Unmarshal(*req.Params, &p); err != nil {
		return nil, err
	}
	rel, _ := filepath.Rel(c.dir, pathOf(p.URI))
	c.mu.Lock()
	c.found[filepath.ToSlash(rel)] = p.Diagnostics
	c.mu.Unlock()
	c.news <- struct{}{}
	return nil, nil
}

func (c *client) ask(method string, params, result any) {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.conn.Call(ctx, method, params, result); err != nil {
		c.Fatalf("%s: %v", method, err)
	}
}

func (c *client) notify(method string, params any) {
	c.Helper()
	if err := c.conn.Notify(context.Background(), method, params); err != nil {
		c.Fatalf("%s: %v", method, err)
	}
}

// write writes a file below the chart's directory, or beside it.
func (c *client) write(name, text string) {
	c.Helper()
	filetest.WriteFile(c.T, filepath.Join(c.dir, filepath.FromSlash(name)), text)
}

func (c *client) uri(name string) string {
	return uriOf(filepath.Join(c.dir, filepath.FromSlash(name)))
}

// open opens a file with a text in which "|" is the cursor, and returns the cursor's position.
func (c *client) open(name, text string) map[string]any {
	c.Helper()
	before, after, ok := strings.Cut(text, "|")
	if !ok {
		before, after = "", text
	}
	plain := before + after
	c.notify("textDocument/didOpen", map[string]any{"textDocument": document{URI: c.uri(name), Text: plain}})
	return map[string]any{
		"textDocument": map[string]any{"uri": c.uri(name)}, "position": newText(plain).position(len(before)),
	}
}

// wait waits for diagnostics of a file that satisfy want.
func (c *client) wait(name string, want func([]Diagnostic) bool) {
	c.Helper()
	timeout := time.After(10 * time.Second)
	for {
		c.mu.Lock()
		found, ok := c.found[name]
		c.mu.Unlock()
		if ok && want(found) {
			return
		}
		select {
		case <-c.news:
		case <-timeout:
			c.Fatalf("%s: got diagnostics %v", name, found)
		}
	}
}

// labels returns the labels of completions.
func labels(items []CompletionItem) []string {
	var out []string
	for _, i := range items {
		out = append(out, i.Label)
	}
	return out
}

func TestCompletion(t *testing.T) {
	tests := []struct {
		name, file, text string
		want             []string // all of them are offered
		not              string   // is not
	}{
		{"root", "templates/new.yaml", "a: {{ .| }}", []string{"Values", "Release", "Chart", "Capabilities", "Files"}, "image"},
		{"values", "templates/new.yaml", "a: {{ .Values.| }}", []string{"image", "hosts", "level", "debug", "db"}, "size"},
		{"below", "templates/new.yaml", "a: {{ .Values.image.re| }}", []string{"repository", "tag"}, "image"},
		{"not closed", "templates/new.yaml", "a: {{ .Values.image.|\nb: c\n", []string{"repository", "tag"}, "image"},
		{"variable", "templates/new.yaml", "{{ $x := .Values.image }}{{ $x.| }}", []string{"repository", "tag"}, "image"},
		{"dollar", "templates/new.yaml", "{{ with .Values.image }}{{ $.Values.| }}{{ end }}", []string{"image", "level"}, "repository"},
		{"with", "templates/new.yaml", "{{ with .Values.image }}{{ .| }}{{ end }}", []string{"repository", "tag"}, "Values"},
		{"else", "templates/new.yaml", "{{ with .Values.image }}{{ else }}{{ .| }}{{ end }}", []string{"Values"}, "tag"},
		{"after", "templates/new.yaml", "{{ with .Values.image }}{{ end }}{{ .| }}", []string{"Values"}, "tag"},
		{"range", "templates/new.yaml", "{{ range .Values.hosts }}{{ .| }}{{ end }}", []string{"name", "port"}, "Values"},
		{"range's variable", "templates/new.yaml", "{{ range $i, $h := .Values.hosts }}{{ $h.| }}{{ end }}", []string{"name", "port"}, "Values"},
		{"subchart's values", "templates/new.yaml", "{{ .Values.db.| }}", []string{"size"}, "image"},
		{"in a subchart", "charts/db/templates/new.yaml", "{{ .Values.| }}", []string{"size"}, "image"},
		{"release", "templates/new.yaml", "{{ .Release.| }}", []string{"Name", "IsUpgrade"}, "Values"},
		{"functions", "templates/new.yaml", "{{ to| }}", []string{"toYaml", "quote", "include", "range"}, "web.labels"},
		{"pipe", "templates/new.yaml", "{{ .Values.level | nin| }}", []string{"nindent"}, "image"},
		{"include", "templates/new.yaml", "{{ include \"w|\" . }}", []string{"web.labels"}, "toYaml"},
		{"include's quote", "templates/new.yaml", "{{ include \"|", []string{"web.labels"}, "toYaml"},
		{"outside", "templates/new.yaml", "a: .Values.|", nil, "image"},
		{"keys", "values-prod.yaml", "image:\n  repository: x\n  |\n", []string{"tag"}, "repository"},
		{"schema's keys", "values-prod.yaml", "|\n", []string{"debug", "level", "image"}, "tag"},
		{"enum", "values-prod.yaml", "level: |\n", []string{"debug", "info"}, "image"},
		{"boolean", "values-prod.yaml", "debug: |\n", []string{"true", "false"}, "image"},
		{"list's item", "values-prod.yaml", "hosts:\n- name: b\n  |\n", []string{"port"}, "hosts"},
		{"event", "ext/lua/chart.lua", "events.on(\"|\", f)", []string{"pre-render", "pre-install"}, "ctx"},
		{"module", "ext/lua/chart.lua", "local u = require(\"|\")", []string{"util"}, "chart"},
		{"context", "ext/lua/chart.lua", "events.on(\"pre-render\", function(c)\n  c.|\nend)", []string{"values", "chart", "release"}, "image"},
		{"context's values", "ext/lua/chart.lua", "events.on(\"pre-render\", function(c)\n  local v = c.values\n  v.image.|\nend)",
			[]string{"tag"}, "image"},
		{"context's chart", "ext/lua/chart.lua", "local x = ctx.chart.|", []string{"appVersion"}, "values"},
		{"library", "ext/lua/chart.lua", "yaml.|", []string{"decode"}, "on"},
	}
	c := newClient(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var items []CompletionItem
			text := test.text
			if i := strings.LastIndex(text, "|"); strings.Count(text, "|") > 1 { // a pipe of the template
				text = strings.ReplaceAll(text[:i], "|", "\x01") + text[i:]
			}
			at := c.open(test.file, text)
			if strings.Contains(text, "\x01") {
				c.notify("textDocument/didChange", changeParams{TextDocument: document{URI: c.uri(test.file)},
					ContentChanges: []change{{Text: strings.ReplaceAll(strings.Replace(text, "|", "", 1), "\x01", "|")}}})
			}
			c.ask("textDocument/completion", at, &items)
			got := labels(items)
			for _, want := range test.want {
				if !slices.Contains(got, want) {
					t.Errorf("got %v, want %s among them", got, want)
				}
			}
			if slices.Contains(got, test.not) {
				t.Errorf("got %v, want no %s among them", got, test.not)
			}
			c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": c.uri(test.file)}})
		})
	}
}

// TestCompletionEdit: the edit of a completion replaces the name at the cursor.
func TestCompletionEdit(t *testing.T) {
	c := newClient(t)
	var items []CompletionItem
	c.ask("textDocument/completion", c.open("templates/new.yaml", "ä: {{ .Values.image.re|po }}"), &items)
	i := slices.IndexFunc(items, func(i CompletionItem) bool { return i.Label == "repository" })
	if i < 0 {
		t.Fatalf("got %v, want repository", labels(items))
	}
	want := TextEdit{Range{Position{0, 20}, Position{0, 24}}, "repository"}
	if got := *items[i].TextEdit; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestHover(t *testing.T) {
	tests := []struct {
		name, file, text string
		want             []string
	}{
		{"value", "templates/new.yaml", "{{ .Values.image.repo|sitory }}",
			[]string{"**image.repository** · string", "Where the image comes from", "nginx", "set in web/values.yaml:3"}},
		{"table", "templates/new.yaml", "{{ .Values.im|age.repository }}", []string{"**image** · object", "repository: nginx"}},
		{"subchart's value", "charts/db/templates/new.yaml", "{{ .Values.si|ze }}",
			[]string{"Gigabytes", "set in web/values.yaml:9", "before web/charts/db/values.yaml:2"}},
		{"function", "templates/new.yaml", "{{ up|per \"a\" }}", []string{"In capital letters", "`WEB`"}},
		{"named template", "templates/new.yaml", "{{ include \"web.la|bels\" . }}", []string{"templates/_helpers.tpl", "The labels of all objects."}},
		{"key", "values.yaml", chartFiles["values.yaml"][:8] + "|" + chartFiles["values.yaml"][8:], []string{"**image**", "used in templates/config.yaml:7"}},
		{"choices", "values.yaml", "lev|el: info\n", []string{"One of `\"debug\"`, `\"info\"`", "used in templates/config.yaml:8"}},
		{"field of a script", "ext/lua/chart.lua", "local x = ctx.chart.app|Version", []string{"ctx.chart.appVersion", "the version of what it installs"}},
		{"function of a script", "ext/lua/chart.lua", "yaml.dec|ode(s)", []string{"yaml.decode("}},
	}
	c := newClient(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var hover *Hover
			if test.name == "key" {
				test.text = "im|age:\n  repository: nginx\n"
			}
			c.ask("textDocument/hover", c.open(test.file, test.text), &hover)
			c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": c.uri(test.file)}})
			if hover == nil {
				t.Fatal("got nothing")
			}
			for _, want := range test.want {
				if !strings.Contains(hover.Contents.Value, want) {
					t.Errorf("got %q, want %q in it", hover.Contents.Value, want)
				}
			}
		})
	}
}

func TestDefinitions(t *testing.T) {
	tests := []struct {
		name, method, file, text string
		want                     []string // file:line
	}{
		{"value", "definition", "templates/new.yaml", "{{ .Values.image.t|ag }}", []string{"values.yaml:4"}},
		{"value without a line", "definition", "templates/new.yaml", "{{ .Values.nothing.a|t }}", nil},
		{"subchart's value", "definition", "charts/db/templates/new.yaml", "{{ .Values.si|ze }}",
			[]string{"charts/db/values.yaml:2", "values.yaml:9"}},
		{"from the parent", "definition", "templates/new.yaml", "{{ .Values.db.si|ze }}",
			[]string{"charts/db/values.yaml:2", "values.yaml:9"}},
		{"named template", "definition", "templates/new.yaml", "{{ include \"web.l|abels\" . }}", []string{"templates/_helpers.tpl:2"}},
		{"chart", "definition", "templates/new.yaml", "{{ .Chart.AppV|ersion }}", []string{"Chart.yaml:4"}},
		{"key", "definition", "values.yaml", "image:\n  ta|g: 1\n", []string{"templates/config.yaml:7"}},
		{"module", "definition", "ext/lua/chart.lua", "local u = require(\"ut|il\")", []string{"ext/lua/util.lua:1"}},
		{"script's value", "definition", "ext/lua/chart.lua", "local x = ctx.values.image.t|ag", []string{"values.yaml:4"}},
		{"uses of a named template", "references", "templates/_helpers.tpl", "{{ define \"web.la|bels\" }}{{ end }}",
			[]string{"templates/_helpers.tpl:1", "templates/config.yaml:5"}},
		{"uses of a value", "references", "templates/config.yaml", strings.Replace(chartFiles["templates/config.yaml"], ".Values.level", ".Values.l\x02evel", 1),
			[]string{"values.yaml:10", "templates/config.yaml:8"}},
		{"uses of an item", "references", "values.yaml", "hosts:\n- na|me: a\n", []string{"templates/config.yaml:11"}},
	}
	c := newClient(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := test.text
			before, after, marked := strings.Cut(text, "\x02")
			var at map[string]any
			if marked {
				at = c.open(test.file, strings.ReplaceAll(before, "|", "\x01")+"|"+after)
				c.notify("textDocument/didOpen", map[string]any{"textDocument": document{URI: c.uri(test.file), Text: before + after}})
			} else {
				at = c.open(test.file, text)
			}
			var found []Location
			c.ask("textDocument/"+test.method, at, &found)
			c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": c.uri(test.file)}})
			var got []string
			for _, l := range found {
				rel, _ := filepath.Rel(c.dir, pathOf(l.URI))
				got = append(got, fmt.Sprintf("%s:%d", filepath.ToSlash(rel), l.Range.Start.Line+1))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func has(message string) func([]Diagnostic) bool {
	return func(found []Diagnostic) bool {
		return slices.ContainsFunc(found, func(d Diagnostic) bool { return strings.Contains(d.Message, message) })
	}
}

func TestDiagnostics(t *testing.T) {
	c := newClient(t)
	template := chartFiles["templates/config.yaml"]
	c.open("templates/config.yaml", template+"  x: {{ .Values.level | nope }}\n")
	c.wait("templates/config.yaml", has("nope"))
	c.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": c.uri("templates/config.yaml"), "version": 2},
		"contentChanges": []change{{Text: template}}})
	c.wait("templates/config.yaml", func(found []Diagnostic) bool { return len(found) == 0 })

	c.open("values.yaml", chartFiles["values.yaml"]+"unread: 1\n")
	c.wait("values.yaml", func(found []Diagnostic) bool {
		return slices.ContainsFunc(found, func(d Diagnostic) bool {
			return strings.Contains(d.Message, "unread: never read") && d.Range.Start.Line == 10 && slices.Equal(d.Tags, []int{tagUnnecessary})
		})
	})
	c.open("values.yaml", strings.Replace(chartFiles["values.yaml"], "level: info", "level: loud", 1))
	c.wait("values.yaml", has("level"))

	c.open("values-prod.yaml", "levle: info\n\nlevel: loud\n")
	c.wait("values-prod.yaml", func(found []Diagnostic) bool {
		return has("levle: never read; did you mean level")(found) && slices.ContainsFunc(found, func(d Diagnostic) bool {
			return d.Range.Start.Line == 2 && d.Severity == SeverityError
		})
	})
	c.open("Chart.yaml", "apiVersion: v2\nname: [\n")
	c.wait("Chart.yaml", func(found []Diagnostic) bool { return len(found) > 0 })
}

// TestSession: the order that the protocol asks for, unknown methods, and documents that are no
// files of a chart.
func TestSession(t *testing.T) {
	c := newClient(t)
	var hover *Hover
	c.ask("textDocument/hover", map[string]any{"textDocument": map[string]any{"uri": "untitled:1"}, "position": Position{}}, &hover)
	if hover != nil {
		t.Errorf("got %v for no file, want nothing", hover)
	}
	c.ask("textDocument/hover", map[string]any{"textDocument": map[string]any{"uri": c.uri("missing.yaml")},
		"position": Position{Line: 99, Character: -5}}, &hover)
	var rpc *jsonrpc2.Error
	err := c.conn.Call(context.Background(), "textDocument/rename", map[string]any{}, nil)
	if !errors.As(err, &rpc) || rpc.Code != jsonrpc2.CodeMethodNotFound {
		t.Errorf("got %v for an unknown method", err)
	}
	err = c.conn.Call(context.Background(), "textDocument/hover", "text", nil)
	if !errors.As(err, &rpc) || rpc.Code != jsonrpc2.CodeInvalidParams {
		t.Errorf("got %v for wrong parameters", err)
	}
	c.ask("shutdown", nil, nil)
	err = c.conn.Call(context.Background(), "textDocument/hover", map[string]any{}, nil)
	if !errors.As(err, &rpc) || rpc.Code != jsonrpc2.CodeInvalidRequest {
		t.Errorf("got %v after shutdown", err)
	}
	c.notify("exit", nil)
	if err := <-c.done; err != nil {
		t.Errorf("got %v at the end", err)
	}
}

func TestLostEditor(t *testing.T) {
	c := newClient(t)
	c.open("templates/config.yaml", "{{ .Values.")
	_ = c.out.Close()
	if err := <-c.done; !errors.Is(err, ErrNoShutdown) {
		t.Errorf("got %v, want ErrNoShutdown", err)
	}
}

// BenchmarkLoad loads a chart as after each change.
func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	for name, text := range chartFiles {
		filetest.WriteFile(b, filepath.Join(dir, name), text)
	}
	for b.Loop() {
		if _, err := load(Server{}.Loader, dir, map[string]string{"values.yaml": chartFiles["values.yaml"]}); err != nil {
			b.Fatal(err)
		}
	}
}
