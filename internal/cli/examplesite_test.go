// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"

	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/kubetest"
)

// exampleSite is what the examples of commands find: files, and the hosts below example.com and
// others, behind a proxy that answers for them.
type exampleSite struct {
	files     string // copied for each user
	www       string // what the web servers have
	authority string // file with the certificate that signs those of the hosts
	proxy     string // URL
	registry  exampleRegistry
}

func newExampleSite(t *testing.T) *exampleSite {
	t.Helper()
	dir := t.TempDir()
	s := &exampleSite{files: filepath.Join(dir, "files"), www: filepath.Join(dir, "www"),
		authority: filepath.Join(dir, "ca.pem"), registry: exampleRegistry{content: map[string][]byte{}}}
	s.start(t)
	filetest.Write(t, s.files, map[string]string{
		"production.yaml":       "replicaCount: 2\n",
		"charts/README.md":      "Charts of this directory.\n",
		"secret.txt":            "hunter2\n",
		"umbrella/Chart.yaml":   umbrellaChart,
		"my-plugin/plugin.yaml": pluginFile("my-plugin"),
		"greet/plugin.yaml":     pluginFile("greet"),
		"other/plugin.yaml":     pluginFile("other"),
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

// writeKeys writes the key of ann@example.com: secret.asc, which is encrypted, and ann.asc.
func writeKeys(t *testing.T, dir string) {
	t.Helper()
	ann, err := openpgp.NewEntity("Ann", "", "ann@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, serialize func(io.Writer) error) {
		var b bytes.Buffer
		w, err := armor.Encode(&b, kind, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := serialize(w); err != nil {
			t.Fatal(err)
		}
		w.Close()
		filetest.WriteFile(t, filepath.Join(dir, name), b.String())
	}
	write("ann.asc", openpgp.PublicKeyType, ann.Serialize)
	if err := ann.EncryptPrivateKeys([]byte("secret"), nil); err != nil {
		t.Fatal(err)
	}
	write("secret.asc", openpgp.PrivateKeyType, func(w io.Writer) error { return ann.SerializePrivateWithoutSigning(w, nil) })
}

// start starts the proxy. A connection through it is answered by the host's handler.
func (s *exampleSite) start(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name},
			IsCA: name == "ca", BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	}
	ca := template("ca")
	own, err := x509.CreateCertificate(rand.Reader, ca, ca, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	filetest.WriteFile(t, s.authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own})))
	config := &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		leaf, err := x509.CreateCertificate(rand.Reader, template(hello.ServerName), ca, &key.PublicKey, key)
		return &tls.Certificate{Certificate: [][]byte{leaf, own}, PrivateKey: key}, err
	}}
	conns := connections{accepted: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: http.HandlerFunc(s.serve), ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(tls.NewListener(conns, config)) }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil || r.Method != http.MethodConnect {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		select {
		case conns.accepted <- conn:
		case <-conns.closed:
		}
	})}
	go func() { _ = proxy.Serve(listener) }()
	s.proxy = "http://" + listener.Addr().String()
	t.Cleanup(func() { proxy.Close(); close(conns.closed); server.Close() })
}

// connections is a listener of connections that were accepted elsewhere.
type connections struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (c connections) Accept() (net.Conn, error) {
	select {
	case conn := <-c.accepted:
		return conn, nil
	case <-c.closed:
		return nil, net.ErrClosed
	}
}

func (c connections) Close() error   { return nil }
func (c connections) Addr() net.Addr { return &net.TCPAddr{} }

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
		s.registry.serve(w, r)
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

// exampleRegistry is an OCI registry in memory. Who pushes must be ann, with the password hunter2.
type exampleRegistry struct {
	mu      sync.Mutex
	content map[string][]byte // blobs by digest; manifests by "repository:reference"
	tags    []string          // "repository:tag"
}

var registryPath = regexp.MustCompile(`^/v2/(.+)/(blobs|manifests|tags)/(.+)$`)

func (e *exampleRegistry) serve(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := registryPath.FindStringSubmatch(strings.TrimSuffix(r.URL.Path, "/"))
	user, password, _ := r.BasicAuth()
	known := user == "ann" && password == "hunter2"
	switch {
	case !known && (m == nil || r.Method != http.MethodGet && r.Method != http.MethodHead):
		w.Header().Set("WWW-Authenticate", `Basic realm="here"`)
		http.Error(w, "{}", http.StatusUnauthorized)
	case m == nil:
		fmt.Fprint(w, "{}")
	case m[2] == "tags":
		e.list(w, m[1])
	case r.Method == http.MethodPost:
		w.Header().Set("Location", "/v2/"+m[1]+"/blobs/uploads/1")
		w.WriteHeader(http.StatusAccepted)
	case r.Method == http.MethodPut || r.Method == http.MethodPatch:
		e.store(w, r, m[1], m[2], m[3])
	default:
		e.load(w, m[1], m[2], m[3])
	}
}

func (e *exampleRegistry) list(w http.ResponseWriter, repository string) {
	names := []string{}
	for _, tag := range e.tags {
		if name, ok := strings.CutPrefix(tag, repository+":"); ok {
			names = append(names, name)
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"name": repository, "tags": names})
}

func (e *exampleRegistry) store(w http.ResponseWriter, r *http.Request, repository, kind, reference string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(body))
	e.content[digest] = body
	if kind == "manifests" {
		e.content[repository+":"+reference], e.content[repository+":"+digest] = body, body
		e.tags = append(e.tags, repository+":"+reference)
	}
	w.Header().Set("Location", "/v2/"+repository+"/"+kind+"/"+digest)
	w.Header().Set("Docker-Content-Digest", digest)
	w.WriteHeader(http.StatusCreated)
}

func (e *exampleRegistry) load(w http.ResponseWriter, repository, kind, reference string) {
	body, ok := e.content[reference]
	if kind == "manifests" {
		body, ok = e.content[repository+":"+reference]
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
	}
	if !ok {
		http.Error(w, `{"errors":[{"code":"NOT_FOUND"}]}`, http.StatusNotFound)
		return
	}
	w.Header().Set("Docker-Content-Digest", fmt.Sprintf("sha256:%x", sha256.Sum256(body)))
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body)
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
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if r.Method == http.MethodPost || r.Method == http.MethodPut {
			body = settled(body)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.RequestURI = ""
		answer, err := direct.RoundTrip(r)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
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

// settled returns an object with the status that it gets in the end.
func settled(body []byte) []byte {
	var o map[string]any
	if json.Unmarshal(body, &o) != nil {
		return body
	}
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
	default:
		return body
	}
	text, err := json.Marshal(o)
	if err != nil {
		return body
	}
	return text
}
