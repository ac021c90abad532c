// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/moonhelm/moonhelm/internal/peertest"
)

// argocdArgs are the arguments with which Argo CD renders a chart, in the chart's directory:
// https://argo-cd.readthedocs.io/en/stable/user-guide/helm/
var argocdArgs = []string{
	"template", ".", "--name-template", "shop", "--namespace", "prod", "--kube-version", "1.36",
	"--api-versions", "v1", "--api-versions", "apps/v1", "--api-versions", "apps/v1/Deployment",
	"--api-versions", "networking.k8s.io/v1/Ingress", "--api-versions", "monitoring.coreos.com/v1",
	"--api-versions", "monitoring.coreos.com/v1/ServiceMonitor", "--api-versions", "cert-manager.io/v1",
	"--include-crds",
}

// argocdEnv is the environment of Argo CD's repo-server, with what docs/containers.md adds to it: all
// directories of helm are one, which is writable.
func argocdEnv(dir string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "TZ=UTC", "HELM_CACHE_HOME=" + dir,
		"HELM_CONFIG_HOME=" + dir, "HELM_DATA_HOME=" + dir, "KUBECONFIG=" + filepath.Join(dir, "no-kubeconfig"),
	}
}

// TestArgoCDCorpus renders public charts as Argo CD does, with the program that its image would have, and
// holds the result against Helm's: the same sequence of sources, each object equal as data.
func TestArgoCDCorpus(t *testing.T) {
	charts, err := filepath.Glob(filepath.Join(root(t), "..", "shared", "corpus", "charts", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(charts) == 0 {
		t.Skip("the corpus is missing: it is in ../shared/corpus, beside the project, where it is developed")
	}
	bin, other := ours(t), peer(t, helm4)
	values := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(values, []byte("podAnnotations: {team: shop}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append(append([]string{}, argocdArgs...), "--values", values)
	for _, chart := range charts {
		t.Run(filepath.Base(chart), func(t *testing.T) {
			dir := t.TempDir()
			want, err := peertest.Command{
				Bin: other, Args: args, Reads: []string{values, dir}, Dir: chart, Env: argocdEnv(dir),
			}.Run()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(bin, args...)
			cmd.Dir, cmd.Env = chart, append(argocdEnv(dir), "HELM_COMPAT=3")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			stdout, err := cmd.Output()
			if want.Code != 0 {
				compareFailure(t, want.Stderr, result{string(stdout), stderr.String(), err})
				return
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr.String())
			}
			// A file of crds/ may have several documents below one source.
			w, g := renderedDocuments(t, want.Stdout), renderedDocuments(t, string(stdout))
			if len(w) != len(g) {
				t.Fatalf("%d documents, in Helm's answer %d", len(g), len(w))
			}
			for i := range w {
				if w[i].source != g[i].source {
					t.Fatalf("document %d comes from %s, in Helm's answer from %s", i, g[i].source, w[i].source)
				}
				if !reflect.DeepEqual(w[i].data, g[i].data) {
					t.Errorf("document %d (%s) differs%s", i, w[i].source, difference("", w[i].data, g[i].data))
				}
			}
		})
	}
}

// renderedDocuments reads the documents of a rendered chart that are not empty. One without a source has that of
// the document before it.
func renderedDocuments(t *testing.T, text string) (out []document) {
	t.Helper()
	source := ""
	for part := range strings.SplitSeq("\n"+text, "\n---") {
		head, _, _ := strings.Cut(strings.TrimSpace(part), "\n")
		if name, ok := strings.CutPrefix(head, "# Source: "); ok && !strings.Contains(name, "://") {
			source = name
		}
		var data any
		if err := yaml.NewDecoder(strings.NewReader(part)).Decode(&data); err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("%s: %v", source, err)
		}
		if data != nil {
			out = append(out, document{source, data})
		}
	}
	return out
}
