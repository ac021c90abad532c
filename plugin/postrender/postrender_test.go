// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/manifest"
)

// filter is a post-renderer that is a function.
type filter func(text string) (string, error)

func (f filter) Run(_ context.Context, in io.Reader, out, stderr io.Writer) error {
	data, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	text, err := f(string(data))
	_, _ = io.WriteString(out, text)
	_, _ = io.WriteString(stderr, "a remark\n")
	return err
}

const web = `# what comes first
apiVersion: v1
kind: ConfigMap
metadata:
  name: b   # trailing
data: {x: "1"}
`

const hook = `apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations:
    # before anything else
    helm.sh/hook: pre-install
spec:
  template:
    spec:
      args:
      - |
        --- no separator
        end

`

func parse(t *testing.T, source, text string) []*manifest.Object {
	t.Helper()
	objs, err := manifest.Parse(source, text)
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

func rendered(t *testing.T) []*manifest.Object {
	t.Helper()
	return slices.Concat(
		parse(t, "web/templates/a.yaml", web),
		parse(t, "web/templates/b.yaml", "# only a comment\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  annotations: {}"),
		parse(t, "web/templates/hook.yaml", hook),
		parse(t, "web/templates/list.yaml", "apiVersion: v1\nkind: List\nitems: []\n"),
	)
}

func TestRenderUnchanged(t *testing.T) {
	objs := rendered(t)
	var output bytes.Buffer
	sent := ""
	r := Renderer{Name: "cat", Stderr: &output, Runner: filter(func(text string) (string, error) { sent = text; return text, nil })}
	back, err := r.Render(context.Background(), objs)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(slices.Clone(objs), func(o *manifest.Object) bool { return o.Empty })
	if !slices.Equal(back, want) {
		t.Errorf("got %v, want %v", back, want)
	}
	const first = `---
# Source: web/templates/a.yaml
# what comes first
apiVersion: v1
kind: ConfigMap
metadata:
  name: b   # trailing
  annotations:
    postrenderer.helm.sh/postrender-filename: web/templates/a.yaml
data: {x: "1"}

---
`
	if !strings.HasPrefix(sent, first) {
		t.Errorf("the program got\n%s", sent)
	}
	if n := strings.Count(sent, "\n    "+Annotation+": web/templates/"); n != 4 {
		t.Errorf("%d documents name their template, want 4:\n%s", n, sent)
	}
	if output.String() != "a remark\n" {
		t.Errorf("it said %q", output.String())
	}
}

func TestRenderRestoresSource(t *testing.T) {
	without := func(text string) string {
		var out []string
		for _, line := range strings.Split(text, "\n") {
			if !strings.Contains(line, Annotation) {
				out = append(out, line)
			}
		}
		return strings.Join(out, "\n")
	}
	comments := func(text string) string {
		var out []string
		for _, line := range strings.Split(text, "\n") {
			if !strings.HasPrefix(line, "#") {
				out = append(out, line)
			}
		}
		return strings.Join(out, "\n")
	}
	reverse := func(text string) string {
		docs := manifest.Split(text)
		slices.Reverse(docs)
		return "---\n" + strings.Join(docs, "\n---\n")
	}
	for _, tt := range []struct {
		name string
		do   func(string) string
		want string // "source object" of each result
	}{
		{"a name is changed", func(s string) string { return strings.ReplaceAll(s, "name: b ", "name: prod-b ") },
			"web/templates/a.yaml ConfigMap/prod-b, web/templates/b.yaml ConfigMap/c, web/templates/hook.yaml Job/migrate, web/templates/list.yaml List/"},
		{"the annotation is lost", without,
			"web/templates/a.yaml ConfigMap/b, web/templates/b.yaml ConfigMap/c, web/templates/hook.yaml Job/migrate, web/templates/list.yaml List/"},
		{"the comments are lost", func(s string) string { return strings.ReplaceAll(comments(s), "spec:", "Spec:") },
			"web/templates/a.yaml ConfigMap/b, web/templates/b.yaml ConfigMap/c, web/templates/hook.yaml Job/migrate, web/templates/list.yaml List/"},
		{"both are lost", func(s string) string { return comments(without(s)) },
			"web/templates/a.yaml ConfigMap/b, web/templates/b.yaml ConfigMap/c, web/templates/hook.yaml Job/migrate, web/templates/list.yaml List/"},
		{"the order is lost", reverse,
			"web/templates/a.yaml ConfigMap/b, web/templates/b.yaml ConfigMap/c, web/templates/hook.yaml Job/migrate, web/templates/list.yaml List/"},
		{"objects go", func(s string) string { return s[:strings.Index(s, "---\n# Source: web/templates/hook")] },
			"web/templates/a.yaml ConfigMap/b, web/templates/b.yaml ConfigMap/c"},
		{"objects come", func(s string) string {
			return "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n" + s +
				"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: d\n  annotations: {" + Annotation + ": web/templates/a.yaml}\n---\n# nothing\n"
		}, "web/templates/a.yaml ConfigMap/b, web/templates/a.yaml ConfigMap/d, web/templates/b.yaml ConfigMap/c, web/templates/hook.yaml Job/migrate, web/templates/list.yaml List/, generated-by-postrender-0.yaml Secret/s"},
		{"one is doubled", func(s string) string { return s + s[:strings.Index(s, "---\n# Source: web/templates/b")] },
			"web/templates/a.yaml ConfigMap/b, web/templates/a.yaml ConfigMap/b, web/templates/b.yaml ConfigMap/c, web/templates/hook.yaml Job/migrate, web/templates/list.yaml List/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Renderer{Name: "x", Runner: filter(func(s string) (string, error) { return tt.do(s), nil })}
			back, err := r.Render(context.Background(), rendered(t))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range back {
				got = append(got, o.Source+" "+o.String())
				if strings.Contains(o.Raw, Annotation) || o.Annotations[Annotation] != "" {
					t.Errorf("%s has kept the annotation:\n%s", o, o.Raw)
				}
			}
			if got := strings.Join(got, ", "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// An object without annotations has none afterwards.
func TestRenderRemovesAnnotation(t *testing.T) {
	r := Renderer{Name: "x", Runner: filter(func(s string) (string, error) { return strings.ReplaceAll(s, `"1"`, `"2"`), nil })}
	back, err := r.Render(context.Background(), parse(t, "web/templates/a.yaml", web))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(web, `"1"`, `"2"`); back[0].Raw != want {
		t.Errorf("got\n%s\nwant\n%s", back[0].Raw, want)
	}
}

func TestRenderErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(string) (string, error)
		want string
	}{
		{"it fails", func(string) (string, error) { return "", errors.New("it failed with exit code 3") }, "post-renderer \"x\": it failed with exit code 3; its standard error:\na remark"},
		{"it prints nothing", func(string) (string, error) { return " \n", nil }, "printed nothing"},
		{"it prints no YAML", func(string) (string, error) { return "a: b: c\n", nil }, "its output is invalid: YAML parse error: error converting YAML to JSON: yaml: line 1: mapping values"},
		{"it prints words", func(string) (string, error) { return "hello\n", nil }, "its output is invalid: YAML parse error"},
		{"it prints a remark", func(s string) (string, error) { return "warning: old\n" + s, nil }, `not an object, it has no apiVersion and kind: "warning: old"`},
		{"it leaves the chart", func(s string) (string, error) {
			return strings.ReplaceAll(s, Annotation+": web/", Annotation+": ../../"), nil
		}, "must be a file of a chart"},
		{"it says where in lines", func(s string) (string, error) {
			return strings.ReplaceAll(s, Annotation+": web/templates/a.yaml", Annotation+`: "a\u001b[2J"`), nil
		}, "must be a file of a chart"},
		{"it floods", func(string) (string, error) { return strings.Repeat("a: b\n", 1<<20), nil }, "more than 2 MiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Renderer{Name: "x", Runner: filter(tt.do), most: 2 << 20}
			_, err := r.Render(context.Background(), rendered(t))
			var failed *Error
			if !errors.As(err, &failed) || failed.Name != "x" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// The output for an empty chart may be empty.
func TestRenderEmpty(t *testing.T) {
	r := Renderer{Name: "x", Runner: filter(func(s string) (string, error) { return s, nil })}
	if back, err := r.Render(context.Background(), nil); err != nil || len(back) != 0 {
		t.Errorf("%v, %v", back, err)
	}
}

// A program that never exits is ended with the operation.
func TestRenderCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := Renderer{Name: "x", Runner: hanging{cancel}}
	began := time.Now()
	if _, err := r.Render(ctx, rendered(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

type hanging struct{ begun func() }

func (h hanging) Run(ctx context.Context, _ io.Reader, _, _ io.Writer) error {
	h.begun()
	<-ctx.Done()
	return ctx.Err()
}

func FuzzUnpack(f *testing.F) {
	f.Add(web)
	f.Add("---\n# Source: a\napiVersion: v1\nkind: X\nmetadata: {annotations: {" + Annotation + ": a/b}}\n---\n")
	f.Add("metadata: &a {annotations: {" + Annotation + ": x}}\nkind: a\napiVersion: b\nx: *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := pack(parse(t, "web/templates/a.yaml", web))
		if err != nil {
			t.Fatal(err)
		}
		back, err := p.unpack(text)
		if err != nil {
			return
		}
		for _, o := range back {
			if o.Annotations[Annotation] != "" {
				t.Errorf("%q kept its annotation", o.Raw)
			}
			if err := checkSource(o.Source); err != nil {
				t.Error(err)
			}
		}
		if _, err := manifest.ParseManifest(manifest.Format(back)); err != nil {
			t.Errorf("it does not read back: %v", err)
		}
	})
}

func BenchmarkRender(b *testing.B) {
	var objs []*manifest.Object
	for i := range 800 {
		more, err := manifest.Parse("web/templates/a.yaml", strings.ReplaceAll(hook, "migrate", fmt.Sprint("job-", i)))
		if err != nil {
			b.Fatal(err)
		}
		objs = append(objs, more...)
	}
	r := Renderer{Name: "x", Runner: filter(func(s string) (string, error) { return strings.ReplaceAll(s, "batch/v1", "batch/v2"), nil })}
	for b.Loop() {
		if _, err := r.Render(context.Background(), objs); err != nil {
			b.Fatal(err)
		}
	}
}
