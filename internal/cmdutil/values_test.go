// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/term"
)

func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func parsed(t *testing.T, args ...string) *ValueFlags {
	t.Helper()
	var v ValueFlags
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	v.Bind(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &v
}

// endless is a reader without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '#'
	}
	return len(p), nil
}

func TestValuesPrecedence(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "from: url\nurl: true\n")
	}))
	defer server.Close()
	a, text := written(t, "a.yaml", "from: file\nfile: true\nlist: [1, 2]\n"), written(t, "text", "contents\n")
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing", nil, "map[]"},
		{"a later file wins", []string{"-f", a, "-f", "-", "-f", server.URL}, "map[file:true from:url list:[1 2] stdin:true url:true]"},
		{"in one flag", []string{"--values", server.URL + ",-," + a}, "map[file:true from:file list:[1 2] stdin:true url:true]"},
		{"--set overrides files, in any order", []string{"--set", "from=set,list[1]=x", "-f", a}, "map[file:true from:set list:[1 x]]"},
		{"strings stay strings", []string{"--set", "a=1", "--set-string", "b=1", "--set-literal", "c=x,y=1"}, "map[a:1 b:1 c:x,y=1]"},
		{"files and JSON", []string{"--set-file", "f=" + text, "--set-json", `{"j": [1]}`}, "map[f:contents\n j:[1]]"},
		{"a file of a URL", []string{"--set-file", "f=" + server.URL}, "map[f:from: url\nurl: true\n]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := New(term.Streams{In: strings.NewReader("from: stdin\nstdin: true\n")})
			vals, err := parsed(t, test.args...).Build(t.Context(), f, &chart.Chart{})
			if err != nil || fmt.Sprint(vals) != test.want {
				t.Errorf("%s: got %v, %v; want %s", test.name, vals, err, test.want)
			}
		})
	}
}

func TestUnreadableValues(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.CopyN(w, endless{}, maxSource+1) })
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, test := range []struct {
		name string
		in   io.Reader
		args []string
		want string
	}{
		{"no such file", nil, []string{"-f", "nowhere.yaml"}, "nowhere.yaml"},
		{"a directory", nil, []string{"-f", t.TempDir()}, "is a directory"},
		{"no YAML", nil, []string{"-f", written(t, "bad.yaml", "a: b: c")}, "bad.yaml"},
		{"no map", nil, []string{"-f", written(t, "list.yaml", "- a\n")}, "list.yaml"},
		{"404", nil, []string{"-f", server.URL + "/nowhere"}, "404"},
		{"redirects without end", nil, []string{"-f", server.URL + "/loop"}, "10 redirects"},
		{"too large, from a server", nil, []string{"-f", server.URL + "/large"}, "larger than 20 MiB"},
		{"too large, from standard input", endless{}, []string{"-f", "-"}, "read standard input: larger than 20 MiB"},
		{"no standard input", nil, []string{"-f", "-"}, "standard input: there is none"},
		{"--set-file of nothing", nil, []string{"--set-file", "a=nowhere"}, "nowhere"},
		{"--set", nil, []string{"--set", "a[b]=1"}, "--set"},
	} {
		t.Run(test.name, func(t *testing.T) {
			vals, err := parsed(t, test.args...).Build(t.Context(), New(term.Streams{In: test.in}), &chart.Chart{})
			if err == nil || vals != nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v, %v; want %q", test.name, vals, err, test.want)
			}
		})
	}
}

func TestValuesUnknownScheme(t *testing.T) {
	f := New(term.Streams{Getenv: func(string) string { return "" }})
	_, err := f.ReadSource(t.Context(), "s3://bucket/values.yaml")
	if err == nil || !strings.Contains(err.Error(), `scheme "s3" not supported`) {
		t.Errorf("ReadSource(s3 URL) = %v", err)
	}
}
