// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/kubetest"
)

// exampleSite has what the examples of commands need: files and hosts.
type exampleSite struct {
	files    string   // directory, copied for each user
	www      string   // directory of the web servers
	hosts    []string // environment in which the hosts answer
	registry exampleRegistry
}

func newExampleSite(t *testing.T) *exampleSite {
	t.Helper()
	dir := t.TempDir()
	s := &exampleSite{files: filepath.Join(dir, "files"), www: filepath.Join(dir, "www"),
		registry: exampleRegistry{login: true}}
	s.hosts = serveHosts(t, dir, http.HandlerFunc(s.serve))
	filetest.Write(t, s.files, map[string]string{
		"production.yaml": "replicaCount: 2\n",
		"tolerations.yaml": "patches:\n- target: {kind: Deployment}\n  patch: |-\n    - {op: add, path: /spec/template/spec/tolerations, " +
			"value: [{operator: Exists}]}\n",
		"key.txt":                  "AGE-SECRET-KEY-1RJCWLZAXRW3QNJX9GCVYPMUJENEH48S2XWZ6TG6GGPT4TVRSUHNQDNWTX2\n",
		"web.yaml":                 "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, labels: {app: web}}\n",
		"loose/Chart.yaml":         "apiVersion: v2\nname: loose\nversion: 1.0.0\n",
		"loose/templates/all.yaml": looseTemplates,
		"charts/README.md":         "Charts of this directory.\n",
		"secret.txt":               "hunter2\n",
		"umbrella/Chart.yaml":      umbrellaChart,
		"my-plugin/plugin.yaml":    pluginFile("my-plugin"),
		"greet/plugin.yaml":        pluginFile("greet"),
		"other/plugin.yaml":        pluginFile("other"),
	})
	writeKeys(t, s.files)
	u := &exampleUser{dir: s.files, env: s.environment(s.files)}
	const sign = ` --key ann --keyring secret.asc --passphrase-file -`
	for _, line := range []string{
		"helm create mychart", "helm create mychart-new", "sed -i s/replicaCount:.*/replicaCount:\\ 2/ mychart-new/values.yaml",
		"helm create our-starter", "helm create web", "echo '# Web' >web/README.md",
		"helm package web --version 1.1.0 -d " + s.www + "/charts",
		"helm package web --version 1.3.0-rc.1 -d " + s.www + "/charts",
		`echo "$PASSPHRASE" | helm package web --version 1.2.0 -d ` + s.www + "/charts --sign" + sign,
		"helm repo index " + s.www + "/charts --url https://charts.example.com",
		`echo "$PASSPHRASE" | helm plugin package greet` + sign,
		"helm plugin package other --sign=false",
		"mkdir -p " + s.www + "/plugins; cp greet-1.2.3.tgz* " + s.www + "/plugins",
		"helm repo add example https://charts.example.com",
		`echo "$TOKEN" | helm registry login registry.example.com -u ann --password-stdin`,
		"helm push " + s.www + "/charts/web-1.2.0.tgz oci://registry.example.com/charts",
		"helm registry logout registry.example.com", "rm -r web greet other",
	} {
		u.run(t, line, 0)
	}
	s.makeRepository(t)
	return s
}

// looseTemplates are objects with the names that the examples give them.
const looseTemplates = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: db}, spec: {ports: [{port: 5432}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: web, labels: {app: web}}, data: {a: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}
---
{apiVersion: v1, kind: Secret, metadata: {name: token}, stringData: {a: b}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}}
`

const umbrellaChart = `apiVersion: v2
name: umbrella
version: 0.1.0
dependencies:
  - {name: web, version: ^1.2, repository: "https://charts.example.com"}
`

func pluginFile(name string) string {
	return "name: " + name + "\nversion: 1.2.3\nusage: " + name + "\ndescription: say hello\ncommand: echo hello\n"
}

// makeRepository makes the git repository https://example.com/ann/helm-hello.
func (s *exampleSite) makeRepository(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	filetest.WriteFile(t, filepath.Join(dir, "plugin.yaml"), pluginFile("hello"))
	u := &exampleUser{dir: dir, env: s.environment(dir)}
	u.run(t, `git init -q -b main . && git add . && git -c user.name=ann -c user.email=ann@example.com commit -qm hello &&
		git tag v1.2.3 && mkdir -p `+s.www+`/ann && git clone -q --bare . `+s.www+`/ann/helm-hello &&
		cd `+s.www+`/ann/helm-hello && git update-server-info`, 0)
}

// user returns a new user, who has added the repository.
func (s *exampleSite) user(t *testing.T) *exampleUser {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "files")
	if out, err := exec.Command("cp", "-r", s.files, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	return &exampleUser{dir: dir, env: s.environment(dir)}
}

// writeKeys writes the key of ann@example.com: secret.asc, with the passphrase "secret", and ann.asc.
func writeKeys(t *testing.T, dir string) {
	t.Helper()
	ann := newKey(t, "Ann", "ann@example.com", filepath.Join(dir, "ann.asc"))
	if err := ann.EncryptPrivateKeys([]byte("secret"), nil); err != nil {
		t.Fatal(err)
	}
	writeArmor(t, filepath.Join(dir, "secret.asc"), openpgp.PrivateKeyType, func(w io.Writer) error {
		return ann.SerializePrivateWithoutSigning(w, nil)
	})
}

// serve answers for all hosts of the examples.
func (s *exampleSite) serve(w http.ResponseWriter, r *http.Request) {
	charts := http.FileServer(http.Dir(filepath.Join(s.www, "charts")))
	switch r.Host {
	case "charts.example.com":
		charts.ServeHTTP(w, r)
	case "private.example.com":
		if user, password, _ := r.BasicAuth(); user != "ann" || password != "hunter2" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		charts.ServeHTTP(w, r)
	case "registry.example.com":
		s.registry.ServeHTTP(w, r)
	case "example.com":
		http.FileServer(http.Dir(s.www)).ServeHTTP(w, r)
	case "hub.helm.sh", "hub.example.com":
		fmt.Fprint(w, `{"data": [{"id": "ann/web", "artifactHub": {"packageUrl": "https://artifacthub.io/packages/helm/ann/web"},
			"attributes": {"description": "a web server", "repo": {"url": "https://charts.example.com", "name": "ann"}},
			"relationships": {"latestChartVersion": {"data": {"version": "1.2.0", "app_version": "1.27"}}}}]}`)
	case "github.com":
		fmt.Fprintln(w, "v0.0.1")
	default:
		http.NotFound(w, r)
	}
}

// exampleCluster starts an API server whose Deployments are ready and whose pods have succeeded as
// soon as they are written, and returns its kubeconfig.
func exampleCluster(t *testing.T) string {
	t.Helper()
	backend := kubetest.Start()
	t.Cleanup(backend.Close)
	direct := backend.Direct().Transport
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/log") {
			fmt.Fprintln(w, "it answers")
			return
		}
		r.RequestURI = ""
		answer, err := direct.RoundTrip(r)
		if err != nil {
			return
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(settled(body))
	}))
	t.Cleanup(front.Close)
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: example
contexts: [{name: example, context: {cluster: example, user: ann}}]
clusters: [{name: example, cluster: {server: %q}}]
users: [{name: ann, user: {}}]
`, front.URL)
}

// settled returns an object, or a list of objects, with the status that each gets in the end.
func settled(body []byte) []byte {
	var o map[string]any
	if json.Unmarshal(body, &o) != nil {
		return body
	}
	settle(o)
	items, _ := o["items"].([]any)
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			settle(object)
		}
	}
	text, err := json.Marshal(o)
	if err != nil {
		return body
	}
	return text
}

// settle sets the status of o.
func settle(o map[string]any) {
	spec, _ := o["spec"].(map[string]any)
	switch o["kind"] {
	case "Pod":
		var ended []any
		containers, _ := spec["containers"].([]any)
		for _, c := range containers {
			ended = append(ended, map[string]any{"name": c.(map[string]any)["name"],
				"state": map[string]any{"terminated": map[string]any{"exitCode": 0}}})
		}
		o["status"] = map[string]any{"phase": "Succeeded", "containerStatuses": ended}
	case "Deployment":
		n := spec["replicas"]
		o["status"] = map[string]any{"replicas": n, "updatedReplicas": n, "readyReplicas": n, "availableReplicas": n,
			"conditions": []any{map[string]any{"type": "Available", "status": "True"}}}
	case "PersistentVolumeClaim":
		o["status"] = map[string]any{"phase": "Bound"}
	}
}
