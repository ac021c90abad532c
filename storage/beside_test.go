// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moonhelm/moonhelm/release"
)

// secretServer stores Secrets by name, like an API server.
type secretServer struct {
	mu      sync.Mutex
	secrets map[string]*recordObject
	version int
}

func (s *secretServer) Call(_ context.Context, method, path string, _ url.Values, _ http.Header, body []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := path[strings.LastIndex(path, "/")+1:]
	old := s.secrets[name]
	if method != http.MethodPost && old == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
	}
	switch method {
	case http.MethodGet:
		return json.Marshal(old)
	case http.MethodDelete:
		delete(s.secrets, name)
		return []byte("{}"), nil
	}
	o := &recordObject{}
	if err := json.Unmarshal(body, o); err != nil {
		return nil, err
	}
	if method == http.MethodPut && o.Metadata.Version != old.Metadata.Version {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, name, nil)
	}
	s.put(o)
	return json.Marshal(o)
}

func (s *secretServer) put(o *recordObject) {
	s.version++
	o.Metadata.UID, o.Metadata.Version = "u", strconv.Itoa(s.version)
	s.secrets[o.Metadata.Name] = o
}

func TestUpdateKeepsForeignAnnotations(t *testing.T) {
	for name, c := range map[string]struct {
		limit int  // of a Secret
		fresh bool // updated by a process that has not read the record
	}{
		"one piece": {objectLimit, false}, "one piece, unread": {objectLimit, true},
		"parts": {600, false}, "parts, unread": {600, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := &secretServer{secrets: map[string]*recordObject{}}
			driver := func() *Cluster {
				d := Secrets(server, "a")
				d.limit = c.limit
				return d
			}
			s := New(driver(), "a")
			r := release.New("web", "a", 1, nil)
			r.Info.Status, r.Holder = release.PendingInstall, "me"
			for i := range 300 {
				r.Manifest += strconv.Itoa(i * i * 7919) // several parts if they are small
			}
			if err := s.Create(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			secret := server.secrets["sh.helm.release.v1.web.v1"]
			secret.Metadata.Annotations["backup.example.com/last"] = "monday"
			server.put(secret)
			if c.fresh {
				s, r.Stored.Version = New(driver(), "a"), ""
			}

			r.Info.Status, r.Holder = release.Deployed, ""
			if err := s.Update(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			r.Info.Status = release.Superseded
			if err := s.Update(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if parts := len(server.secrets) > 1; parts != (c.limit < objectLimit) {
				t.Fatalf("the record is in %d Secrets", len(server.secrets))
			}
			got := server.secrets["sh.helm.release.v1.web.v1"].Metadata.Annotations
			if got["backup.example.com/last"] != "monday" {
				t.Errorf("annotations after two updates: %q, want the foreign one kept", got)
			}
			if got[annotationHolder] != "" || got[annotationHeartbeat] != "" || !strings.Contains(got[annotation], "superseded") {
				t.Errorf("annotations after two updates: %q, want no holder, and the summary of now", got)
			}
		})
	}
}

func TestForeignAnnotationsLimit(t *testing.T) {
	if got := foreignAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("x", maxForeign)}); got != nil {
		t.Errorf("kept %d annotations of more than %d bytes", len(got), maxForeign)
	}
}
