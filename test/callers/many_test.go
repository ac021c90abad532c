// SPDX-License-Identifier: Apache-2.0

package callers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/moonhelm/moonhelm/test/callers/many"
)

// TestManyReleases applies a helmfile of 26 releases and then a change to all of them, with our
// binary and with Helm 4, both with helm-diff, and compares the objects.
func TestManyReleases(t *testing.T) {
	admin := os.Getenv(kubeconfigVar)
	if admin == "" {
		t.Skip("no cluster: make callers brings one up (" + kubeconfigVar + ")")
	}
	all := helms(t)
	var results [2]string
	for i, h := range all[:2] {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := many.Write(dir); err != nil {
				t.Fatal(err)
			}
			ns := fmt.Sprintf("callers-%d-many-%s", os.Getpid(), h.name)
			kubeconfig, _, err := newNamespace(admin, ns, dir)
			if err != nil {
				t.Fatal(err)
			}
			env := manyEnv(t, h, dir, kubeconfig)
			changed := append([]string{"GREETING=bye"}, env...)
			helmfile(t, dir, env, "-n", ns, "apply")
			helmfile(t, dir, changed, "-n", ns, "apply")
			results[i] = objects(t, kubeconfig, ns)
		})
	}
	t.Cleanup(func() {
		if !t.Failed() && results[0] != results[1] {
			t.Errorf("ours made\n%s\nHelm 4 made\n%s", results[0], results[1])
		}
	})
}

// manyEnv returns the environment of helmfile for a binary.
func manyEnv(t *testing.T, h helm, dir, kubeconfig string) []string {
	t.Helper()
	bin, home := filepath.Join(dir, ".bin"), filepath.Join(dir, "home")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(h.bin, filepath.Join(bin, "helm")); err != nil {
		t.Fatal(err)
	}
	diff, err := program("helm-diff-3.9.11")
	if err != nil {
		t.Fatal(err)
	}
	plugins := filepath.Join(home, ".local", "share", "helm", "plugins", "diff")
	if err := os.CopyFS(plugins, os.DirFS(diff)); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"PATH=" + strings.Join([]string{bin, "/usr/bin", "/bin"}, string(filepath.ListSeparator)),
		"HOME=" + home, "KUBECONFIG=" + kubeconfig, "HELMFILE_UPGRADE_NOTICE_DISABLED=1",
	}
	if h.name == "helm4" {
		env = append(env, "HELM_DIFF_USE_UPGRADE_DRY_RUN=true") // this helm-diff is for Helm 3
	}
	return env
}

func helmfile(t *testing.T, dir string, env []string, args ...string) {
	t.Helper()
	caller, err := program("helmfile-1.8.0")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(caller, "helmfile"), args...)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("helmfile %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// objects returns the objects of the releases in the namespace without fields that differ
// between any two objects.
func objects(t *testing.T, kubeconfig, ns string) string {
	t.Helper()
	var b strings.Builder
	for _, kind := range []string{
		"api/v1/namespaces/%s/configmaps", "api/v1/namespaces/%s/services", "api/v1/namespaces/%s/serviceaccounts",
		"apis/apps/v1/namespaces/%s/deployments", "apis/policy/v1/namespaces/%s/poddisruptionbudgets",
	} {
		text, status, err := request(kubeconfig, http.MethodGet, "/"+fmt.Sprintf(kind, ns), "")
		if err != nil || status != http.StatusOK {
			t.Fatalf("list %s: %d %v", kind, status, err)
		}
		var list struct{ Items []map[string]any }
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			metadata := item["metadata"].(map[string]any)
			for _, key := range []string{
				"uid", "resourceVersion", "creationTimestamp", "managedFields", "namespace", "generation",
			} {
				delete(metadata, key)
			}
			delete(item, "status")
			if spec, is := item["spec"].(map[string]any); is {
				delete(spec, "clusterIP")
				delete(spec, "clusterIPs")
			}
			if metadata["name"] == "kube-root-ca.crt" || metadata["name"] == "default" {
				continue
			}
			text, err := yaml.Marshal(item)
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(strings.ReplaceAll(string(text), ns, "NAMESPACE") + "---\n")
		}
	}
	if n := strings.Count(b.String(), "---\n"); n < 4*many.Releases {
		t.Fatalf("%d objects", n)
	}
	return b.String()
}
