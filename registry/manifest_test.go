// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
)

// The manifests are those that Helm 4.3.1 and 3.22.0 push for the same charts. Only
// test/registry compares with the binary itself.
func TestNewManifestLikeHelm(t *testing.T) {
	archive := descriptor{contentType, "sha256:b4a245300a0971e49c1e0e2b1cfd80c33a4a03876840de242b0fd387b05ee5f4", 5017}
	prov := descriptor{provenanceType, "sha256:33a4fa6f27b1cdafb36860082aa3768a2fdbf400c448ef18a639ed15c6f958dd", 9}
	created := time.Date(2020, 1, 1, 7, 0, 0, 5e8, time.FixedZone("", -5*3600))
	for _, test := range []struct {
		name   string
		meta   chart.Metadata
		layers layers
		want   string // after the configuration
	}{
		{"little", chart.Metadata{Name: "t", Version: "0.1.0", Description: "  x ", Sources: []string{"https://a", "https://b"}, Maintainers: []*chart.Maintainer{{}}}, layers{archive: archive},
			`"layers":[{"mediaType":"application/vnd.cncf.helm.chart.content.v1.tar+gzip","digest":"` + archive.Digest + `","size":5017}],"annotations":{"org.opencontainers.image.created":"2020-01-01T07:00:00-05:00","org.opencontainers.image.description":"  x ","org.opencontainers.image.source":"https://a","org.opencontainers.image.title":"t","org.opencontainers.image.version":"0.1.0"}}`},
		{"annotations of its own, and provenance", chart.Metadata{Name: "db", Version: "0.1.0", Description: "x", Home: "h", Annotations: map[string]string{
			"org.opencontainers.image.created": "1999", "org.opencontainers.image.title": "nope", "org.opencontainers.image.version": "9", "org.opencontainers.image.url": "nope", "x": "y<z>", "empty": "",
		}}, layers{archive: archive, provenance: &prov},
			`"layers":[{"mediaType":"application/vnd.cncf.helm.chart.provenance.v1.prov","digest":"` + prov.Digest + `","size":9},{"mediaType":"application/vnd.cncf.helm.chart.content.v1.tar+gzip","digest":"` + archive.Digest + `","size":5017}],"annotations":{"empty":"","org.opencontainers.image.created":"1999","org.opencontainers.image.description":"x","org.opencontainers.image.title":"db","org.opencontainers.image.url":"nope","org.opencontainers.image.version":"0.1.0","x":"y\u003cz\u003e"}}`},
		{"authors", chart.Metadata{Name: "db", Version: "0.2.0", Maintainers: []*chart.Maintainer{{Name: "Bob", URL: "http://bob"}, {Email: "foo@b"}, {}}}, layers{archive: archive},
			`"layers":[{"mediaType":"application/vnd.cncf.helm.chart.content.v1.tar+gzip","digest":"` + archive.Digest + `","size":5017}],"annotations":{"org.opencontainers.image.authors":"Bob,  (foo@b), ","org.opencontainers.image.created":"2020-01-01T07:00:00-05:00","org.opencontainers.image.title":"db","org.opencontainers.image.version":"0.2.0"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.layers.config = descriptor{configType, "sha256:3055e00bd089685f76a15f12d6ab9279c5aeb80a3c049387741559ae12ffd9fe", 472}
			got, err := newManifest(&test.meta, created, test.layers)
			want := `{"schemaVersion":2,"config":{"mediaType":"application/vnd.cncf.helm.config.v1+json","digest":"` + test.layers.config.Digest + `","size":472},` + test.want
			if err != nil || string(got) != want {
				t.Errorf("%s: %v\n%s\nwanted\n%s", test.name, err, got, want)
			}
		})
	}
}

func TestParseManifestRejectsInvalid(t *testing.T) {
	config := `"config":{"mediaType":"` + configType + `","digest":"` + someDigest + `","size":2}`
	layer := `{"mediaType":"` + contentType + `","digest":"` + someDigest + `","size":2}`
	for text, want := range map[string]string{
		`{`:                "cannot be read",
		`null`:             "without a media type",
		`{` + config + `}`: "has no chart archive",
		`{` + config + `,"layers":[` + layer + `,` + layer + `]}`:                                           "has two archives",
		`{` + config + `,"layers":[` + strings.Replace(layer, "sha256:", "sha512:", 1) + `]}`:               "malformed digest",
		`{` + config + `,"layers":[` + strings.Replace(layer, someDigest, "sha256:../../x", 1) + `]}`:       "malformed digest",
		`{` + config + `,"layers":[` + strings.Replace(layer, `"size":2`, `"size":-2`, 1) + `]}`:            "malformed digest or size",
		`{` + config + `,"layers":[` + strings.Replace(layer, `"size":2`, `"size":1099511627776`, 1) + `]}`: "the archive is larger than 200 MiB",
		`{` + strings.Replace(config, `"size":2`, `"size":1099511627776`, 1) + `,"layers":[` + layer + `]}`: "its metadata is larger than",
		`{"mediaType":"` + imageIndex + `",` + config + `,"layers":[` + layer + `]}`:                        "an index of several images",
	} {
		t.Run(text, func(t *testing.T) {
			if _, err := parseManifest("web", imageManifest, []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
		})
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add(`{"config":{"mediaType":"`+configType+`","digest":"`+someDigest+`","size":2},"layers":[{"mediaType":"`+contentType+`","digest":"`+someDigest+`","size":2}]}`, imageManifest)
	f.Add(`{"manifests":[]}`, imageIndex)
	f.Fuzz(func(t *testing.T, text, mediaType string) {
		l, err := parseManifest("x", mediaType, []byte(text))
		if err != nil {
			return
		}
		for _, d := range []descriptor{l.config, l.archive} {
			if !isDigest(d.Digest) || d.Size < 0 || d.Size > maxArchive {
				t.Fatalf("%q: %+v", text, d)
			}
		}
	})
}

func FuzzParseConfig(f *testing.F) {
	f.Add(`{"name":"web","version":"1.0.0"}`)
	f.Fuzz(func(t *testing.T, text string) {
		meta, err := parseConfig("x", []byte(text))
		var wrong *ContentError
		if err != nil {
			if !errors.As(err, &wrong) {
				t.Fatal(err)
			}
			return
		}
		if strings.ContainsAny(meta.Name+meta.Version, `/\`) || meta.Name == ".." {
			t.Fatalf("%q", text)
		}
		if _, err := json.Marshal(meta); err != nil {
			t.Fatal(err)
		}
	})
}
