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
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// exampleEnv returns the environment of programs that examples run in dir: nothing of the user who
// runs the tests, and no kubeconfig.
func exampleEnv(dir string, more ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "TZ=UTC", "NO_COLOR=1", "TERM=dumb",
		"KUBECONFIG=" + filepath.Join(dir, "kubeconfig"),
	}, more...)
}

// serveHosts has handler answer HTTPS requests to any host, behind a proxy. It writes the
// certificate authority to a file of dir and returns the environment in which programs use the proxy
// and trust the authority.
func serveHosts(t *testing.T, dir string, handler http.Handler) []string {
	t.Helper()
	certificate, authority := hostCertificates(t)
	hosts := httptest.NewUnstartedServer(handler)
	hosts.TLS = &tls.Config{GetCertificate: certificate}
	hosts.Config.ErrorLog = log.New(io.Discard, "", 0) // connections that a client gives up
	hosts.StartTLS()
	t.Cleanup(hosts.Close)
	proxy := httptest.NewServer(tunnel(hosts.Listener.Addr().String()))
	t.Cleanup(proxy.Close)
	path := filepath.Join(dir, "authority.pem")
	filetest.WriteFile(t, path, string(authority))
	return []string{"HTTPS_PROXY=" + proxy.URL, "SSL_CERT_FILE=" + path, "GIT_SSL_CAINFO=" + path}
}

// hostCertificates returns a certificate authority in PEM format, and a function that issues the
// certificate of the host that a client asks for.
func hostCertificates(t *testing.T) (issue func(*tls.ClientHelloInfo) (*tls.Certificate, error), authority []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := func(name string, isCA bool) *x509.Certificate {
		return &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name},
			IsCA: isCA, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	}
	ca := template("authority of the examples", true)
	root, err := x509.CreateCertificate(rand.Reader, ca, ca, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	issue = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		leaf, err := x509.CreateCertificate(rand.Reader, template(hello.ServerName, false), ca, &key.PublicKey, key)
		return &tls.Certificate{Certificate: [][]byte{leaf, root}, PrivateKey: key}, err
	}
	return issue, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root})
}

// tunnel returns a proxy that connects to address, whatever host a client asks for.
func tunnel(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT is served", http.StatusMethodNotAllowed)
			return
		}
		server, err := net.Dial("tcp", address)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer server.Close()
		client, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer client.Close()
		fmt.Fprint(client, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(server, client) // ends when either side hangs up
			server.Close()
		}()
		_, _ = io.Copy(client, server)
	}
}

// writeArmor writes a file with an OpenPGP block of a type.
func writeArmor(t *testing.T, path, blockType string, write func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	w, err := armor.Encode(&b, blockType, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(write(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	filetest.WriteFile(t, path, b.String()+"\n")
}

// newKey returns a new OpenPGP key and writes its public half to path.
func newKey(t *testing.T, name, email, path string) *openpgp.Entity {
	t.Helper()
	key, err := openpgp.NewEntity(name, "", email, &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		t.Fatal(err)
	}
	writeArmor(t, path, openpgp.PublicKeyType, key.Serialize)
	return key
}

// exampleRegistry is an OCI registry in memory. Its zero value is empty.
type exampleRegistry struct {
	// login requires the user ann with the password hunter2, but for reading.
	login bool

	mu      sync.Mutex
	content map[string]registryContent // by "repository@digest" and "repository:tag"
	tags    map[string][]string        // by repository
}

type registryContent struct {
	mediaType string
	data      []byte
}

func (e *exampleRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/v2/")
	repository, isTags := strings.CutSuffix(path, "/tags/list")
	var reference string
	if !isTags {
		for _, kind := range []string{"/manifests/", "/blobs/"} {
			if repository, reference, _ = strings.Cut(path, kind); reference != "" {
				break
			}
		}
	}
	user, password, _ := r.BasicAuth()
	reads := isTags || reference != "" && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	switch {
	case e.login && !reads && (user != "ann" || password != "hunter2"):
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		http.Error(w, "{}", http.StatusUnauthorized)
	case isTags:
		e.list(w, repository)
	case reference == "": // a login asks for /v2/
	case r.Method == http.MethodPost:
		w.Header().Set("Location", "/v2/"+repository+"/blobs/uploads/1")
		w.WriteHeader(http.StatusAccepted)
	case r.Method == http.MethodPut:
		e.put(w, r, repository, reference)
	default:
		e.get(w, r, contentKey(repository, reference))
	}
}

// contentKey returns the key of a manifest or blob. A digest contains a colon, a tag does not.
func contentKey(repository, reference string) string {
	if strings.Contains(reference, ":") {
		return repository + "@" + reference
	}
	return repository + ":" + reference
}

func (e *exampleRegistry) put(w http.ResponseWriter, r *http.Request, repository, reference string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(body))
	if want := r.URL.Query().Get("digest"); want != "" && want != digest {
		http.Error(w, "another digest", http.StatusBadRequest)
		return
	}
	if e.content == nil {
		e.content, e.tags = map[string]registryContent{}, map[string][]string{}
	}
	content := registryContent{r.Header.Get("Content-Type"), body}
	e.content[contentKey(repository, digest)] = content
	if !strings.HasPrefix(reference, "uploads/") && !strings.Contains(reference, ":") {
		e.content[contentKey(repository, reference)] = content
		if !slices.Contains(e.tags[repository], reference) {
			e.tags[repository] = append(e.tags[repository], reference)
		}
	}
	w.Header().Set("Docker-Content-Digest", digest)
	w.WriteHeader(http.StatusCreated)
}

func (e *exampleRegistry) get(w http.ResponseWriter, r *http.Request, key string) {
	content, ok := e.content[key]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", content.mediaType)
	w.Header().Set("Docker-Content-Digest", fmt.Sprintf("sha256:%x", sha256.Sum256(content.data)))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content.data))
}

func (e *exampleRegistry) list(w http.ResponseWriter, repository string) {
	if e.tags[repository] == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"name": repository, "tags": e.tags[repository]})
}
