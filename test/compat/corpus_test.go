// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestCorpus renders public charts and compares the output with Helm's: the same sequence of
// sources, each object with equal data.
func TestCorpus(t *testing.T) {
	corpus := filepath.Join(root(t), "..", "shared", "corpus")
	expected, err := filepath.Glob(filepath.Join(corpus, "expected", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(expected) == 0 {
		t.Skip("the corpus is missing: it is in ../shared/corpus, beside the project, where it is developed")
	}
	bin, home := ours(t), t.TempDir()
	for _, file := range expected {
		ext := filepath.Ext(file)
		name := strings.TrimSuffix(filepath.Base(file), ext)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := run(t, bin, home, "template", "rel", filepath.Join(corpus, "charts", name), "--namespace", "ns", "--kube-version", "1.36.0")
			if ext == ".error" {
				compareFailure(t, string(want), got)
				return
			}
			if got.err != nil {
				t.Fatalf("%v\n%s", got.err, got.stderr)
			}
			compareOutput(t, string(want), got.stdout)
		})
	}
}

// compareFailure requires an error with the same cause: the words of Helm's message that name
// it must be in ours.
func compareFailure(t *testing.T, want string, got result) {
	t.Helper()
	if got.err == nil {
		t.Fatalf("this succeeds, where Helm says:\n%s", want)
	}
	for _, cause := range []string{
		"library charts are not installable",
		"missing in charts/ directory: redis",
		"A MongoDB URI is required",
		"can't give argument to non-function",
		"https://raw.githubusercontent.com/instrumenta/kubernetes-json-schema/master/v1.18.0/_definitions.json",
	} {
		if strings.Contains(want, cause) {
			wantIn(t, "our error", got.stderr, cause)
			return
		}
	}
	t.Fatalf("this test does not know the cause in Helm's answer; add it:\n%s", want)
}

type document struct {
	source string
	data   any
}

func compareOutput(t *testing.T, want, got string) {
	t.Helper()
	w, g := parse(t, "Helm's answer", want), parse(t, "ours", got)
	for i := 0; i < len(w) && i < len(g); i++ {
		if w[i].source != g[i].source {
			t.Fatalf("document %d comes from %s, in Helm's answer from %s", i, g[i].source, w[i].source)
		}
		if !reflect.DeepEqual(w[i].data, g[i].data) {
			t.Errorf("document %d (%s) differs%s", i, w[i].source, difference("", w[i].data, g[i].data))
		}
	}
	if len(w) != len(g) {
		t.Fatalf("%d documents, in Helm's answer %d", len(g), len(w))
	}
}

// parse returns the documents of an output of `helm template` with their sources.
func parse(t *testing.T, what, text string) []document {
	t.Helper()
	var out []document
	for _, part := range strings.Split("\n"+text, "\n---\n") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		head, body, _ := strings.Cut(strings.TrimLeft(part, "\n"), "\n")
		source, ok := strings.CutPrefix(head, "# Source: ")
		if !ok {
			t.Fatalf("%s has a document without a source:\n%s", what, part)
		}
		var data any
		if err := yaml.NewDecoder(strings.NewReader(body)).Decode(&data); err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("%s: %s: %v", what, source, err)
		}
		out = append(out, document{source, data})
	}
	return out
}

// difference returns the first paths at which two values differ.
func difference(path string, want, got any) string {
	wm, ok1 := want.(map[string]any)
	gm, ok2 := got.(map[string]any)
	if ok1 && ok2 {
		var b strings.Builder
		for k := range wm {
			if _, ok := gm[k]; !ok {
				fmt.Fprintf(&b, "\n  %s.%s is missing", path, k)
			} else if !reflect.DeepEqual(wm[k], gm[k]) {
				b.WriteString(difference(path+"."+k, wm[k], gm[k]))
			}
		}
		for k := range gm {
			if _, ok := wm[k]; !ok {
				fmt.Fprintf(&b, "\n  %s.%s is too much", path, k)
			}
		}
		return b.String()
	}
	wl, ok1 := want.([]any)
	gl, ok2 := got.([]any)
	if ok1 && ok2 && len(wl) == len(gl) {
		var b strings.Builder
		for i := range wl {
			if !reflect.DeepEqual(wl[i], gl[i]) {
				b.WriteString(difference(fmt.Sprintf("%s[%d]", path, i), wl[i], gl[i]))
			}
		}
		return b.String()
	}
	return fmt.Sprintf("\n  %s is\n%s\n  and in Helm's answer\n%s", path, indent(fmt.Sprint(got)), indent(fmt.Sprint(want)))
}
