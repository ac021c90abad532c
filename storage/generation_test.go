// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/storagetest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/storetest"
)

// planted is a record that another client has written.
type planted struct {
	format string // "" for v1
	named  string // the generation in its name, "" for v1
	status release.Status
	data   string
}

// generations are records that clients of other versions may have written.
func generations() map[string]struct {
	planted
	want   string // part of the error
	listed string // part of the message in lists, if it differs; "-" for none
} {
	text := func(json string) string { return base64.StdEncoding.EncodeToString([]byte(json)) }
	return map[string]struct {
		planted
		want   string
		listed string
	}{
		"a type and a name":       {planted{"helm.sh/release.v2", "v2", "deployed", "?"}, "has the format helm.sh/release.v2", ""},
		"a type":                  {planted{"helm.sh/release.v3", "", "deployed", text(`{"name":"web","info":{"status":"deployed"}}`)}, "has the format helm.sh/release.v3", ""},
		"a status of the list":    {planted{"", "", "paused", text(`{"name":"web","info":{"status":"deployed"}}`)}, `has the status "paused"`, ""},
		"a status of the record":  {planted{"", "", "deployed", text(`{"name":"web","info":{"status":"paused"}}`)}, `has the status "paused"`, ""},
		"another payload":         {planted{"", "", "deployed", text(`{"apiVersion":"helm.sh/v2","release":{"name":"web"}}`)}, "has data in a format", ""},
		"no JSON":                 {planted{"", "", "deployed", text("\x28\xb5\x2f\xfd zstd")}, "has data in a format", "damaged"},
		"a field of another type": {planted{"", "", "deployed", text(`{"name":"web","info":{"status":"deployed","notes":{"text":"x"}}}`)}, "has a field in a format", "-"},
	}
}

// testGenerations checks that records of other generations are shown, rejected and kept by
// every driver. plant writes one like another client.
func testGenerations(t *testing.T, open func(t *testing.T) (d storage.Driver, plant func(k storage.Key, p planted))) {
	for name, c := range generations() {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			ctx := t.Context()
			d, plant := open(t)
			s := storage.New(d, "a")
			for n := 1; n <= 4; n++ {
				if n == 2 {
					plant(storage.Key{Namespace: "a", Name: "web", Revision: n}, c.planted)
				} else if err := s.Create(ctx, storetest.Release("a", "web", n, release.Superseded)); err != nil {
					t.Fatal(err)
				}
			}
			_, err := s.Get(ctx, "web", 2)
			wantUnsupported(t, "get", err, c.want)
			history, err := s.History(ctx, "web", 0)
			if c.listed == "" {
				c.listed = "of another generation: it " + c.want
			}
			shown := func(s release.Summary) bool {
				return c.listed == "-" || s.Damaged && strings.Contains(s.Description, c.listed)
			}
			if err != nil || len(history) != 4 || !shown(history[1]) {
				t.Errorf("history is %+v (%v)", history, err)
			}
			if err := s.Prune(ctx, "web", 1, nil); err != nil {
				t.Fatal(err)
			}
			left, err := s.Revisions(ctx, "web")
			if err != nil || len(left) != 1 || left[0].Revision != 2 {
				t.Errorf("pruned to %+v (%v), want revision 2 alone", left, err)
			}
			_, err = s.Get(ctx, "web", 0)
			wantUnsupported(t, "the last one", err, c.want)
			list, err := s.List(ctx, storage.Filter{})
			if err != nil || len(list) != 1 || !shown(list[0]) {
				t.Errorf("list is %+v (%v)", list, err)
			}
		})
	}
	t.Run("one that is only damaged", func(t *testing.T) {
		d, plant := open(t)
		s := storage.New(d, "a")
		plant(storage.Key{Namespace: "a", Name: "web", Revision: 1}, planted{status: "deployed", data: "?!"})
		if err := s.Create(t.Context(), storetest.Release("a", "web", 2, release.Deployed)); err != nil {
			t.Fatal(err)
		}
		if err := s.Prune(t.Context(), "web", 1, nil); err != nil {
			t.Fatal(err)
		}
		if left, err := s.Revisions(t.Context(), "web"); err != nil || len(left) != 1 || left[0].Revision != 2 {
			t.Errorf("pruned to %+v (%v), want revision 2 alone", left, err)
		}
	})
}

func wantUnsupported(t *testing.T, what string, err error, problem string) {
	t.Helper()
	var other *release.UnsupportedError
	if !errors.As(err, &other) || !strings.Contains(err.Error(), problem) {
		t.Errorf("%s: error is %v, want one that says %q", what, err, problem)
	}
}

func TestGenerationsInMemory(t *testing.T) {
	testGenerations(t, func(t *testing.T) (storage.Driver, func(storage.Key, planted)) {
		d := storage.NewMemory("a")
		return d, func(k storage.Key, p planted) {
			if err := storetest.Create(t.Context(), d, storage.Record{Key: k, Status: p.status, Format: p.format, Data: []byte(p.data)}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestGenerationsInSecrets(t *testing.T) { testClusterGenerations(t, "Secret", storage.Secrets) }

func TestGenerationsInConfigMaps(t *testing.T) {
	testClusterGenerations(t, "ConfigMap", storage.ConfigMaps)
}

func testClusterGenerations(t *testing.T, kind string, driver func(storage.API, string) *storage.Cluster) {
	testGenerations(t, func(t *testing.T) (storage.Driver, func(storage.Key, planted)) {
		api := storagetest.NewAPI(time.Now)
		return driver(api, "a"), func(k storage.Key, p planted) {
			if kind == "ConfigMap" && p.format != "" && p.named == "" {
				p.named = strings.TrimPrefix(p.format, "helm.sh/release.") // without a type
			}
			plantObject(t.Context(), t, api, kind, k, p)
		}
	})
}

// plantObject creates the Secret or ConfigMap of a record.
func plantObject(ctx context.Context, t *testing.T, api storage.API, kind string, k storage.Key, p planted) {
	t.Helper()
	if p.named == "" {
		p.named = "v1"
	}
	o := map[string]any{
		"apiVersion": "v1", "kind": kind,
		"metadata": map[string]any{
			"name": fmt.Sprintf("sh.helm.release.%s.%s.v%d", p.named, k.Name, k.Revision), "namespace": k.Namespace,
			"labels": map[string]string{"owner": "helm", "name": k.Name, "status": string(p.status), "version": fmt.Sprint(k.Revision)},
		},
		"data": map[string]any{"release": p.data},
	}
	if kind == "Secret" {
		o["type"], o["data"] = "helm.sh/release.v1", map[string]any{"release": []byte(p.data)}
		if p.format != "" {
			o["type"] = p.format
		}
	}
	body, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	path := "/api/v1/namespaces/" + k.Namespace + "/" + strings.ToLower(kind) + "s"
	if _, err := api.Call(ctx, http.MethodPost, path, nil, http.Header{"Content-Type": {"application/json"}}, body); err != nil {
		t.Fatal(err)
	}
}

// Unknown fields of a record are kept when it is written again.
func TestUnknownFieldsSurviveAnUpdate(t *testing.T) {
	const text = `{"name":"web","info":{"status":"deployed","paused_by":"ann"},"chart":{"metadata":{"name":"c","version":"1.0.0","kind":"next"},"future":[1]},` +
		`"hooks":[{"name":"h","kind":"Job","manifest":"x","last_run":{"phase":"Succeeded","pod":"p"},"retries":3}],"version":1,"namespace":"a","inventory":{"n":12345678901234567890}}`
	for _, kind := range []string{"Secret", "ConfigMap"} {
		t.Run(kind, func(t *testing.T) {
			api := storagetest.NewAPI(time.Now)
			driver := storage.Secrets
			if kind == "ConfigMap" {
				driver = storage.ConfigMaps
			}
			k := storage.Key{Namespace: "a", Name: "web", Revision: 1}
			plantObject(t.Context(), t, api, kind, k, planted{status: "deployed", data: base64.StdEncoding.EncodeToString([]byte(text))})
			s := storage.New(driver(api, "a"), "a")
			r, err := s.Get(t.Context(), "web", 1)
			if err != nil {
				t.Fatal(err)
			}
			r.Info.Status = release.Superseded
			if err := s.Update(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			again, err := s.Get(t.Context(), "web", 1)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(again)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{`"status":"superseded"`, `"paused_by":"ann"`, `"kind":"next"`, `"future":[1]`, `"pod":"p"`, `"retries":3`, `"inventory":{"n":12345678901234567890}`} {
				if !strings.Contains(string(got), want) {
					t.Errorf("record is %s, want %s in it", got, want)
				}
			}
		})
	}
}
