// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/url"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/release"
)

// field writes a length-delimited protobuf field.
func field(num int, parts ...[]byte) []byte {
	value := bytes.Join(parts, nil)
	out := binary.AppendUvarint(nil, uint64(num)<<3|2)
	out = binary.AppendUvarint(out, uint64(len(value)))
	return append(out, value...)
}

func protoSecret(data string) []byte {
	secret := bytes.Join([][]byte{
		field(1, field(1, []byte("name")), field(11, field(1, []byte("status")), field(2, []byte("deployed"))), field(12, field(1, []byte("by")), field(2, []byte("me"))), []byte{0x20, 0x96, 0x01}),
		field(2, field(1, []byte("other")), field(2, []byte("x"))),
		field(2, field(1, []byte("release")), field(2, []byte(data))),
		field(3, []byte("helm.sh/release.v1")),
	}, nil)
	return append([]byte("k8s\x00"), append(field(1, []byte("type")), field(2, secret)...)...)
}

func TestDecodeObject(t *testing.T) {
	for form, body := range map[string]string{
		"protobuf":  string(protoSecret("text")),
		"secret":    `{"kind":"Secret","type":"helm.sh/release.v1","metadata":{"labels":{"status":"deployed"},"annotations":{"by":"me"}},"data":{"release":"` + base64.StdEncoding.EncodeToString([]byte("text")) + `"}}`,
		"configmap": `{"kind":"ConfigMap","metadata":{"labels":{"status":"deployed"},"annotations":{"by":"me"}},"data":{"release":"text"}}`,
	} {
		t.Run(form, func(t *testing.T) {
			o, err := decodeObject([]byte(body), "Secret")
			if err != nil || string(o.data) != "text" || o.labels["status"] != "deployed" || len(o.labels) != 1 || o.annotations["by"] != "me" || len(o.annotations) != 1 {
				t.Errorf("%s: %+v %v", form, o, err)
			}
			if form != "configmap" && o.secretType != secretType {
				t.Errorf("%s: type is %q, want %q", form, o.secretType, secretType)
			}
		})
	}
	for _, body := range []string{"", "{", "k8s\x00\xff", `{"kind":"Secret","data":{}}`, `{"kind":"Secret","data":{"release":"?"}}`, "k8s\x00", "k8s\x00\x12\x05abc"} {
		if o, err := decodeObject([]byte(body), "Secret"); err == nil {
			t.Errorf("%q was read as %+v", body, o)
		}
	}
}

func FuzzDecodeObject(f *testing.F) {
	f.Add(protoSecret("text"))
	f.Add([]byte(`{"kind":"ConfigMap","data":{"release":"text"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if o, err := decodeObject(body, "Secret"); err == nil && o.data == nil && formatOf(o.secretType) == "" {
			t.Error("neither data nor an error")
		}
	})
}

// scripted returns responses one after the other.
type scripted struct {
	answers []func(query url.Values) (string, error)
	asked   []string
}

func (s *scripted) Call(_ context.Context, method, path string, query url.Values, _ http.Header, _ []byte) ([]byte, error) {
	s.asked = append(s.asked, method+" "+path)
	answer := s.answers[0]
	s.answers = s.answers[1:]
	text, err := answer(query)
	return []byte(text), err
}

func secretMeta(name, revision, extra string) string {
	return `{"metadata":{"namespace":"a","name":"sh.helm.release.v1.` + name + `.v` + revision + `","resourceVersion":"7","uid":"u","labels":{"name":"` + name + `","version":"` + revision + `","status":"deployed","owner":"helm"}` + extra + `}}`
}

func TestListRestartsWhenTokenExpires(t *testing.T) {
	page := func(items, next string) func(url.Values) (string, error) {
		return func(url.Values) (string, error) {
			return `{"metadata":{"continue":"` + next + `"},"items":[` + items + `]}`, nil
		}
	}
	expired := func(q url.Values) (string, error) {
		if q.Get("continue") != "two" {
			t.Errorf("asked for page %q", q.Get("continue"))
		}
		return "", apierrors.NewResourceExpired("gone")
	}
	api := &scripted{answers: []func(url.Values) (string, error){
		page(secretMeta("web", "1", ""), "two"), expired, page(secretMeta("web", "1", ""), "two"), page(secretMeta("web", "2", ""), ""),
	}}
	records, err := Secrets(api, "a").List(t.Context(), Query{})
	if err != nil || len(records) != 2 || records[1].Revision != 2 || records[0].Version != "7/u" {
		t.Errorf("%+v, %v", records, err)
	}
}

func TestListSkipsOtherObjects(t *testing.T) {
	api := &scripted{answers: []func(url.Values) (string, error){func(url.Values) (string, error) {
		return `{"items":[` + strings.Join([]string{
			`{"metadata":{"name":"odd","labels":{"owner":"helm"}}}`,
			`{"metadata":{"name":"sh.helm.release.v1.x.v1","labels":{"name":"x","version":"2"}}}`,
			`{"metadata":{"name":"sh.helm.release.v1.x.vv","labels":{"name":"x","version":"v"}}}`,
			secretMeta("web", "1", ""),
		}, ",") + `]}`, nil
	}}}
	records, err := Secrets(api, "").List(t.Context(), Query{})
	if err != nil || len(records) != 1 || records[0].Name != "web" {
		t.Errorf("%+v, %v", records, err)
	}
}

func TestSummaryOfOtherStatusIsIgnored(t *testing.T) {
	annotated := func(text string) string {
		return `,"annotations":{"` + annotation + `":"` + strings.ReplaceAll(text, `"`, `\"`) + `"}`
	}
	for text, believed := range map[string]bool{
		`{"status":"deployed","chart":"nginx"}`:   true,
		`{"status":"superseded","chart":"nginx"}`: false, // Helm has changed the status since
		`{`:  false,
		`[]`: false,
		``:   false,
	} {
		t.Run(text, func(t *testing.T) {
			api := &scripted{answers: []func(url.Values) (string, error){func(url.Values) (string, error) {
				return `{"items":[` + secretMeta("web", "1", annotated(text)) + `]}`, nil
			}}}
			records, err := Secrets(api, "a").List(t.Context(), Query{})
			if err != nil || len(records) != 1 || (records[0].Summary != nil) != believed {
				t.Errorf("%q: %+v, %v", text, records, err)
			}
		})
	}
	long := &release.Summary{Description: strings.Repeat("x", maxSummary)}
	if summaryAnnotation(long) != nil {
		t.Error("a description of many kilobytes went into the metadata")
	}
}

func TestInvalidKeys(t *testing.T) {
	api := &scripted{}
	d := Secrets(api, "a")
	for _, k := range []Key{{"a", "", 1}, {"", "x", 1}, {"a", "../x", 1}, {"..", "x", 1}, {"a/b", "x", 1}} {
		_, read := d.Read(t.Context(), k, "")
		_, created := d.Create(t.Context(), Record{Key: k})
		_, updated := d.Update(t.Context(), Record{Key: k})
		_, renewed := d.RenewHeartbeat(t.Context(), k, Heartbeat{}, "")
		for verb, err := range map[string]error{
			"read": read, "created": created, "updated": updated, "deleted": d.Delete(t.Context(), k, ""), "renewed": renewed,
		} {
			if err == nil {
				t.Errorf("%+v was %s", k, verb)
			}
		}
	}
	if records, err := d.List(t.Context(), Query{Name: "x,owner=someone"}); err != nil || records != nil {
		t.Errorf("listed %v, %v", records, err)
	}
	if len(api.asked) != 0 {
		t.Errorf("asked %q", api.asked)
	}
}
