// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/internal/filetest"
)

const kubeconfig = `clusters: [{name: x, cluster: {server: "%s/", certificate-authority-data: %s}}]
users: [{name: x, user: {token: secret}}]
`

// connect starts a server with the handler and returns a client for it.
func connect(t *testing.T, handler http.HandlerFunc) *apiserver.Client {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	path := filepath.Join(t.TempDir(), "kubeconfig")
	filetest.WriteFile(t, path, fmt.Sprintf(kubeconfig, server.URL, base64.StdEncoding.EncodeToString(ca)))
	client, err := apiserver.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestCall(t *testing.T) {
	client := connect(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s %s %s", r.Method, r.URL, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), body)
	})
	for _, tc := range []struct{ name, method, contentType, want string }{
		{"JSON", http.MethodPost, "", "POST /a?b=c Bearer secret application/json {}"},
		{"merge patch", http.MethodPatch, "", "PATCH /a?b=c Bearer secret application/merge-patch+json {}"},
		{"type of its own", http.MethodPatch, "text/plain", "PATCH /a?b=c Bearer secret text/plain {}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, status, err := client.Call(t.Context(), tc.method, "/a?b=c", tc.contentType, "{}")
			if err != nil {
				t.Fatal(err)
			}
			if status != http.StatusTeapot {
				t.Errorf("got status %d, want %d", status, http.StatusTeapot)
			}
			if string(got) != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestNamespaceIsDeleted(t *testing.T) {
	var got []string
	client := connect(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+r.URL.Path+string(body))
		w.WriteHeader(http.StatusCreated)
	})
	name := ""
	t.Run("test", func(t *testing.T) { name = client.Namespace(t, "web") })
	if !strings.HasPrefix(name, "web-") {
		t.Errorf("got %q, want a name with the prefix web-", name)
	}
	want := []string{
		"POST /api/v1/namespaces" + `{"metadata":{"name":"` + name + `"}}`,
		"DELETE /api/v1/namespaces/" + name,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got the requests %q, want %q", got, want)
	}
}

func TestOpenErrors(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"not YAML", "{", "read "},
		{"no cluster", "users: [{}]", "want one cluster and one user, got 0 and 1"},
		{"no authority", fmt.Sprintf(kubeconfig, "https://127.0.0.1:1", "aGk="), "invalid certificate authority"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kubeconfig")
			filetest.WriteFile(t, path, tc.text)
			if _, err := apiserver.Open(path); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
