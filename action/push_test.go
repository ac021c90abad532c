// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/filetest"
)

// acceptingRegistry starts a registry that accepts all uploads, and returns the received
// manifests by path.
func acceptingRegistry(t *testing.T) (host string, manifests func() map[string]string) {
	t.Helper()
	var mu sync.Mutex
	got := map[string]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		switch {
		case err != nil:
			w.WriteHeader(http.StatusBadRequest)
		case r.Method == http.MethodPost:
			w.Header().Set("Location", r.URL.Path+"1")
			w.WriteHeader(http.StatusAccepted)
		case r.Method == http.MethodPut:
			if strings.Contains(r.URL.Path, "/manifests/") {
				mu.Lock()
				got[r.URL.Path] = string(body)
				mu.Unlock()
			}
			w.WriteHeader(http.StatusCreated)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), func() map[string]string {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

func TestPush(t *testing.T) {
	dir := t.TempDir()
	filetest.Write(t, dir, map[string]string{"queue/Chart.yaml": "apiVersion: v2\nname: queue\nversion: 2.0.1+x\n", "queue-2.0.1.tgz.prov": "signed"})
	c, err := loader.Load(filepath.Join(dir, "queue"))
	if err != nil {
		t.Fatal(err)
	}
	var archive strings.Builder
	if err := loader.Write(&archive, c, loader.Options{}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "queue-2.0.1.tgz")
	filetest.Write(t, dir, map[string]string{"queue-2.0.1.tgz": archive.String()})
	host, manifests := acceptingRegistry(t)
	request := action.PushRequest{Path: path, Remote: "oci://" + host + "/charts", Host: fetch.HostOptions{PlainHTTP: true}}
	pushed, err := action.Push{}.Run(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := pushed.Ref.String(), host+"/charts/queue:2.0.1_x"; got != want {
		t.Errorf("pushed to %s, want %s", got, want)
	}
	manifest := manifests()["/v2/charts/queue/manifests/2.0.1_x"]
	for _, layer := range []string{"helm.chart.content.v1.tar+gzip", "helm.chart.provenance.v1.prov"} {
		t.Run(layer, func(t *testing.T) {
			if !strings.Contains(manifest, layer) {
				t.Errorf("the manifest has no layer %s: %s", layer, manifest)
			}
		})
	}
}

func TestPushErrors(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct {
		name, path, remote string
		want               any
	}{
		{"a repository", "web-1.0.0.tgz", "https://example.com/charts", new(*action.RemoteError)},
		{"no archive", filepath.Join(dir, "web-1.0.0.tgz"), "oci://localhost/charts", new(*action.ChartNotFoundError)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := action.Push{}.Run(t.Context(), action.PushRequest{Path: tc.path, Remote: tc.remote})
			if !errors.As(err, tc.want) {
				t.Errorf("got %v, want a %T", err, tc.want)
			}
		})
	}
}
