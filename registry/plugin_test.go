// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// pluginLayer returns a layer with a title.
func pluginLayer(title string, data []byte) map[string]any {
	return map[string]any{
		"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": digestOf(data), "size": len(data),
		"annotations": map[string]string{"org.opencontainers.image.title": title},
	}
}

func pluginJSON(t *testing.T, artifactType, configType string, layers ...map[string]any) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": imageManifest, "artifactType": artifactType,
		"config": map[string]any{"mediaType": configType, "digest": digestOf([]byte("{}")), "size": 2},
		"layers": layers,
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The form in which Helm 4.3.1 pulls plugins.
func TestPullPlugin(t *testing.T) {
	archive, prov := []byte("archive"), []byte("signed")
	manifest := pluginJSON(t, pluginType, "application/vnd.oci.empty.v1+json",
		pluginLayer("a-1.0.0.tgz.prov", prov), pluginLayer("a-1.0.0.tgz", archive))
	content := map[string][]byte{
		"/v2/p/a/manifests/1.0.0": manifest, "/v2/p/a/manifests/" + digestOf(manifest): manifest,
		"/v2/p/a/blobs/" + digestOf(archive): archive, "/v2/p/a/blobs/" + digestOf(prov): prov,
		"/v2/p/a/manifests/2.0.0": pluginJSON(t, pluginType, "", pluginLayer("a-2.0.0.tgz", []byte("missing"))),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := content[r.URL.Path]
		if !ok {
			http.Error(w, `{"errors":[{"code":"NAME_UNKNOWN"}]}`, http.StatusNotFound)
			return
		}
		if strings.Contains(r.URL.Path, "/manifests/") {
			w.Header().Set("Content-Type", imageManifest)
		}
		_, _ = w.Write(data)
	}))
	defer s.Close()
	c := &Client{PlainHTTP: true}
	host := strings.TrimPrefix(s.URL, "http://")
	for _, ref := range []string{":1.0.0", "@" + digestOf(manifest)} {
		at, err := ParseRef("oci://" + host + "/p/a" + ref)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		got, err := c.PullPlugin(t.Context(), at, &b, nil)
		if err != nil || got.Name != "a-1.0.0.tgz" || string(got.Provenance) != "signed" || b.String() != "archive" {
			t.Errorf("%s: %+v %q %v", ref, got, b.String(), err)
		}
	}
	for ref, want := range map[string]string{
		"": "it has no version", ":2.0.0": "", ":3.0.0": "", "@" + digestOf([]byte("x")): "",
	} {
		t.Run(ref, func(t *testing.T) {
			at, err := ParseRef("oci://" + host + "/p/a" + ref)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := c.PullPlugin(t.Context(), at, new(bytes.Buffer), nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %+v %v", ref, got, err)
			}
		})
	}
}

func TestPullPluginRejectsInvalid(t *testing.T) {
	good := pluginLayer("a-1.0.0.tgz", []byte("x"))
	large := pluginLayer("a-1.0.0.tgz", nil)
	large["size"] = int64(1) << 40
	for want, data := range map[string][]byte{
		"":                            pluginJSON(t, "", pluginType, good),
		"it is a chart, not a plugin": pluginJSON(t, "", configType, good),
		"it is not a plugin":          pluginJSON(t, "", "x", good),
		"has no plugin archive":       pluginJSON(t, pluginType, "", pluginLayer("a.zip", nil)),
		"has two archives":            pluginJSON(t, pluginType, "", good, pluginLayer("b-1.0.0.tgz", nil)),
		"a file in another directory": pluginJSON(t, pluginType, "", pluginLayer("../a-1.0.0.tgz", nil)),
		"the archive is":              pluginJSON(t, pluginType, "", large),
		"its manifest cannot be read": []byte("{"),
		"a malformed digest":          []byte(`{"artifactType":"` + pluginType + `","layers":[{"digest":"sha256:../x","annotations":{"org.opencontainers.image.title":"a.tgz"}}]}`),
	} {
		t.Run(want, func(t *testing.T) {
			_, _, _, err := parsePlugin("host/a:1", data)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", want, err)
			}
		})
	}
}
