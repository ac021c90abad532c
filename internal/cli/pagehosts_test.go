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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// serveExamples makes the hosts that the examples of the documentation name answer, with files of the
// directory dir, and writes the keys that they use. It returns the environment in which programs reach
// these hosts and trust their certificate.
func serveExamples(t *testing.T, dir string) []string {
	t.Helper()
	certificate, authority := exampleCertificate(t)
	hosts := httptest.NewUnstartedServer(&pageHosts{dir: dir, registries: map[string]*pageRegistry{}})
	hosts.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	hosts.Config.ErrorLog = log.New(io.Discard, "", 0) // connections that a client gives up
	hosts.StartTLS()
	t.Cleanup(hosts.Close)
	proxy := httptest.NewServer(tunnel(hosts.Listener.Addr().String()))
	t.Cleanup(proxy.Close)
	trust := filepath.Join(dir, "home", "authority.pem")
	filetest.WriteFile(t, trust, string(authority))
	exampleKeys(t, dir)
	return []string{"HTTPS_PROXY=" + proxy.URL, "SSL_CERT_FILE=" + trust}
}

// exampleCertificate makes a certificate of the hosts of example.com, which is its own authority.
func exampleCertificate(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "example.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"*.example.com", "*.internal.example.com"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, authority
}

// tunnel is a proxy that leads every connection to one address.
func tunnel(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT is served", http.StatusMethodNotAllowed)
			return
		}
		far, err := net.Dial("tcp", address)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer far.Close()
		near, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer near.Close()
		fmt.Fprint(near, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(far, near) // ends when either side hangs up
			far.Close()
		}()
		_, _ = io.Copy(near, far)
	}
}

// exampleKeys writes key.asc, which has the secret keys of maintainers@example.com and releases@example.com
// without a passphrase, and maintainers.asc and releases.asc with their public halves.
func exampleKeys(t *testing.T, dir string) {
	t.Helper()
	config := &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA}
	var entities openpgp.EntityList
	for _, name := range []string{"Maintainers", "Releases"} {
		entity, err := openpgp.NewEntity(name, "", strings.ToLower(name)+"@example.com", config)
		if err != nil {
			t.Fatal(err)
		}
		entities = append(entities, entity)
		writeArmor(t, filepath.Join(dir, strings.ToLower(name)+".asc"), openpgp.PublicKeyType, entity.Serialize)
	}
	writeArmor(t, filepath.Join(dir, "key.asc"), openpgp.PrivateKeyType, func(w io.Writer) error {
		return errors.Join(entities[0].SerializePrivate(w, config), entities[1].SerializePrivate(w, config))
	})
}

func writeArmor(t *testing.T, path, kind string, write func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	w, err := armor.Encode(&b, kind, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(write(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	filetest.WriteFile(t, path, b.String()+"\n")
}

// pageHosts answers for all hosts: registry.* are registries, others have the files of www/NAME.
type pageHosts struct {
	dir        string
	mu         sync.Mutex
	registries map[string]*pageRegistry
}

func (h *pageHosts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	name := strings.TrimSuffix(host, ".example.com")
	if !strings.HasPrefix(name, "registry") {
		http.FileServer(http.Dir(filepath.Join(h.dir, "www", name))).ServeHTTP(w, r)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	registry := h.registries[name]
	if registry == nil {
		registry = &pageRegistry{content: map[string][]byte{}, types: map[string]string{}, tags: map[string][]string{}}
		h.registries[name] = registry
	}
	registry.ServeHTTP(w, r)
}

// pageRegistry is a registry in memory, which takes what is pushed and trusts everyone.
type pageRegistry struct {
	content map[string][]byte // by name@digest and name:tag
	types   map[string]string
	tags    map[string][]string
}

func (e *pageRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/v2/")
	if name, ok := strings.CutSuffix(path, "/tags/list"); ok {
		e.list(w, name)
		return
	}
	name, rest, ok := strings.Cut(path, "/manifests/")
	if !ok {
		name, rest, ok = strings.Cut(path, "/blobs/")
	}
	switch {
	case !ok: // what a login asks for
	case r.Method == http.MethodPost:
		w.Header().Set("Location", "/v2/"+name+"/blobs/uploads/1")
		w.WriteHeader(http.StatusAccepted)
	case r.Method == http.MethodPut:
		e.put(w, r, name, rest)
	default:
		e.get(w, r, key(name, rest))
	}
}

// key returns the place of a manifest or blob: digests have a colon, tags none.
func key(name, reference string) string {
	if strings.Contains(reference, ":") {
		return name + "@" + reference
	}
	return name + ":" + reference
}

func (e *pageRegistry) put(w http.ResponseWriter, r *http.Request, name, rest string) {
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
	e.content[key(name, digest)] = body
	e.types[key(name, digest)] = r.Header.Get("Content-Type")
	if !strings.HasPrefix(rest, "uploads/") && !strings.Contains(rest, ":") {
		e.content[key(name, rest)] = body
		e.types[key(name, rest)] = r.Header.Get("Content-Type")
		e.tags[name] = append(e.tags[name], rest)
	}
	w.Header().Set("Docker-Content-Digest", digest)
	w.WriteHeader(http.StatusCreated)
}

func (e *pageRegistry) get(w http.ResponseWriter, r *http.Request, at string) {
	body, ok := e.content[at]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", e.types[at])
	w.Header().Set("Docker-Content-Digest", fmt.Sprintf("sha256:%x", sha256.Sum256(body)))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

func (e *pageRegistry) list(w http.ResponseWriter, name string) {
	if e.tags[name] == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(map[string]any{"name": name, "tags": e.tags[name]}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
