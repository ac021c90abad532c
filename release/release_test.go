// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
)

func pack(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	if _, err := gz.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	return []byte(base64.StdEncoding.EncodeToString(b.Bytes()))
}

// A record of Helm 3: zero times are "".
const helm3 = `{"name":"web","info":{"first_deployed":"2026-01-02T03:04:05.000000006Z","last_deployed":"2026-01-02T03:04:05.000000006Z","deleted":"","description":"Install complete","status":"deployed","notes":"Hello"},` +
	`"chart":{"metadata":{"name":"nginx","version":"1.2.3","appVersion":"2.0"},"lock":null,"templates":[{"name":"templates/a.yaml","data":"YTogYg=="}],"values":{"port":80},"schema":null,"files":[]},` +
	`"config":{"port":8080},"manifest":"---\na: b\n","hooks":[{"name":"h","kind":"Job","path":"nginx/templates/h.yaml","manifest":"kind: Job\n","events":["pre-install"],"last_run":{"started_at":"","completed_at":"","phase":""},"weight":-5,"delete_policies":["hook-succeeded"]}],"version":2,"namespace":"prod"}`

// A record of Helm 4 with unknown keys.
const helm4 = `{"name":"web","info":{"last_deployed":"2026-01-02T03:04:05.5+09:00","status":"failed","future":{"a":[1,"}"]}},` +
	`"chart":{"metadata":{"name":"nginx","version":"1.2.3"},"modtime":"2026-01-01T00:00:00Z"},"version":1,"namespace":"prod","apply_method":"ssa","sequence":["one \" two",{"x":null}],` +
	`"hooks":[{"name":"h","last_run":{"phase":"Failed","tries":3},"shade":true}]}`

func TestDecodeHelm3AndHelm4(t *testing.T) {
	r, err := Decode(pack(t, helm3))
	if err != nil {
		t.Fatal(err)
	}
	if r.Name != "web" || r.Revision != 2 || r.Namespace != "prod" || r.Manifest != "---\na: b\n" || r.Config["port"] != 8080.0 {
		t.Errorf("read %+v", r)
	}
	if !r.Info.Deleted.IsZero() || r.Info.Status != Deployed || r.Info.FirstDeployed.Nanosecond() != 6 || r.Info.Notes != "Hello" {
		t.Errorf("read info %+v", r.Info)
	}
	h := r.Hooks[0]
	if !h.LastRun.StartedAt.IsZero() || h.Weight != -5 || !h.On(PreInstall) || !h.Deletes(HookSucceeded) || h.Deletes(BeforeHookCreation) {
		t.Errorf("read hook %+v", h)
	}
	c, err := r.Chart()
	if err != nil {
		t.Fatal(err)
	}
	if c.Name() != "nginx" || string(c.Templates[0].Data) != "a: b" || c.Values["port"] != 80.0 {
		t.Errorf("read chart %+v", c)
	}

	r, err = Decode(pack(t, helm4))
	if err != nil {
		t.Fatal(err)
	}
	if !r.Info.FirstDeployed.IsZero() || r.Info.LastDeployed.UTC().Hour() != 18 || r.ApplyMethod != ApplyServerSide {
		t.Errorf("read %+v", r)
	}
}

func TestDecodeUncompressed(t *testing.T) {
	r, err := Decode([]byte(base64.StdEncoding.EncodeToString([]byte(helm3))))
	if err != nil || r.Name != "web" {
		t.Errorf("read %v, %v", r, err)
	}
}

func TestEncodeKeepsUnknownKeys(t *testing.T) {
	r, err := Decode(pack(t, helm4))
	if err != nil {
		t.Fatal(err)
	}
	r.Info.Status = Superseded
	text, err := Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(again)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(helm4, `"failed"`, `"superseded"`, 1)
	if !sameJSON(t, got, []byte(want)) {
		t.Errorf("became\n%s\nwanted\n%s", got, want)
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

// Helm ignores unknown keys of its own types, and a record of Helm's has none of ours.
func TestEncodeMoonhelmKeys(t *testing.T) {
	r := New("web", "prod", 3, nil)
	r.PendingDeletions = []PendingDeletion{{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "prod", Name: "old"}, {APIVersion: "v1", Kind: "Namespace", Name: "wide"}}
	r.Order = json.RawMessage(`{"charts":{"":{"app":["db"]}}}`)
	r.Info.RollbackRevision = 2
	r.Holder = "anna@laptop"
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"web","info":{"rollback_revision":2},"version":3,"namespace":"prod",` +
		`"orphans":[{"apiVersion":"apps/v1","kind":"Deployment","namespace":"prod","name":"old"},{"apiVersion":"v1","kind":"Namespace","name":"wide"}],` +
		`"order":{"charts":{"":{"app":["db"]}}}}`
	if string(text) != want {
		t.Errorf("wrote\n%s\nwanted\n%s", text, want)
	}
	encoded, err := Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if len(back.PendingDeletions) != 2 || back.PendingDeletions[0] != r.PendingDeletions[0] || back.PendingDeletions[1] != r.PendingDeletions[1] || string(back.Order) != string(r.Order) || back.Info.RollbackRevision != 2 {
		t.Errorf("read back %+v", back)
	}
	if back.Holder != "" {
		t.Error("the holder belongs to the metadata of the record, not to its content: it must be readable without the record, and go without a trace")
	}
	sum, err := Summarize(bytes.NewReader(encoded))
	if err != nil || sum.RollbackRevision != 2 {
		t.Errorf("the summary says %+v, %v", sum, err)
	}
}

func TestDecodeMissingMoonhelmKeys(t *testing.T) {
	for _, text := range []string{`{"name":"x"}`, `{"name":"x","orphans":null,"order":null,"info":{"rollback_revision":0}}`, `{"name":"x","orphans":[]}`} {
		r, err := Decode(pack(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if len(r.PendingDeletions) > 0 || r.Order != nil || r.Info.RollbackRevision != 0 {
			t.Errorf("%s: read %+v", text, r)
		}
		again, err := json.Marshal(r)
		if err != nil || bytes.Contains(again, []byte("or")) {
			t.Errorf("%s: wrote %s, %v", text, again, err)
		}
	}
	for _, text := range []string{`{"orphans":7}`, `{"orphans":[7]}`, `{"info":{"rollback_revision":"two"}}`} {
		t.Run(text, func(t *testing.T) {
			if r, err := Decode(pack(t, text)); err == nil {
				t.Errorf("%s was read as %+v", text, r)
			}
		})
	}
}

func TestClone(t *testing.T) {
	r := New("web", "prod", 3, nil)
	r.Labels, r.Holder, r.Hooks = map[string]string{"a": "b"}, "anna", []*Hook{{Name: "h"}}
	r.PendingDeletions, r.Order = []PendingDeletion{{Name: "o"}}, json.RawMessage(`{}`)
	c := r.Clone()
	c.Labels["a"], c.Hooks[0], c.Holder, c.PendingDeletions, c.Order, c.Info.Status = "c", nil, "", nil, nil, Failed
	if r.Labels["a"] != "b" || r.Hooks[0] == nil || r.Holder != "anna" || r.PendingDeletions == nil || r.Order == nil || r.Info.Status != "" {
		t.Errorf("%+v", r)
	}
}

func TestEncodeOmitsZeroTimes(t *testing.T) {
	got, err := json.Marshal(New("web", "prod", 1, nil))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"name":"web","info":{},"version":1,"namespace":"prod"}`; string(got) != want {
		t.Errorf("wrote %s, wanted %s", got, want)
	}
}

func TestEncodeRoundTrip(t *testing.T) {
	c := &chart.Chart{
		Metadata:  &chart.Metadata{Name: "nginx", Version: "1.2.3", AppVersion: "9"},
		Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte("a: <b>\n")}},
		Values:    map[string]any{"a": "<>&"},
		Schema:    []byte(`{}`),
		Files:     []*chart.File{{Name: "README.md", Data: []byte{0, 0xff}}},
	}
	r := New("web", "prod", 3, c)
	r.Info = Info{Status: Deployed, LastDeployed: time.Unix(1700000000, 42).UTC(), Description: "Install complete"}
	r.Config = map[string]any{"replicas": 3.0}
	r.Manifest = strings.Repeat("---\n# <&> \" \\ \u2028\n", 3)
	r.Hooks = []*Hook{{Name: "h", Events: []HookEvent{Test}}}
	text, err := Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	gc, err := got.Chart()
	if err != nil {
		t.Fatal(err)
	}
	if got.Manifest != r.Manifest || !got.Info.LastDeployed.Equal(r.Info.LastDeployed) || !got.Hooks[0].On(Test) || got.Config["replicas"] != 3.0 {
		t.Errorf("read back %+v", got)
	}
	if gc.Values["a"] != "<>&" || !bytes.Equal(gc.Files[0].Data, c.Files[0].Data) || string(gc.Schema) != "{}" {
		t.Errorf("read chart back %+v", gc)
	}
	want, _ := r.Summary()
	sum, err := Summarize(bytes.NewReader(text))
	if err != nil || sum.Chart != want.Chart || sum.AppVersion != "9" || sum.Description != want.Description || !sum.Updated.Equal(want.Updated) {
		t.Errorf("summary %+v, %v; wanted %+v", sum, err, want)
	}
	if sum.ChartName() != "nginx-1.2.3" {
		t.Errorf("chart name %q", sum.ChartName())
	}
}

// strict is a reader that fails if more is read than a summary needs.
type strict struct {
	*bytes.Reader
	left int
}

func (s *strict) Read(p []byte) (int, error) {
	if s.left -= len(p); s.left < 0 {
		return 0, errors.New("read too far")
	}
	return s.Reader.Read(p)
}

func TestSummarizeStopsEarly(t *testing.T) {
	noise := make([]byte, 1<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	text := strings.Replace(helm3, `"YTogYg=="`, `"`+base64.StdEncoding.EncodeToString(noise)+`"`, 1)
	s, err := Summarize(&strict{bytes.NewReader(pack(t, text)), 256 << 10})
	if err != nil || s.Name != "web" || s.Status != Deployed || s.ChartVersion != "1.2.3" {
		t.Errorf("summary %+v, %v", s, err)
	}
}

func TestSummarizeKeyOrder(t *testing.T) {
	for _, text := range []string{
		`{"version":1,"chart":{"values":{"a":[1,{}]},"metadata":{"name":"c","version":"1"},"files":[1]},"info":{"status":"failed"},"name":"x"}`,
		`{"chart":null,"x":[[],{}],"name":"x","info":{"status":"failed"}}`,
		`{"name":"x","info":{"status":"failed"}}`,
	} {
		s, err := Summarize(bytes.NewReader(pack(t, text)))
		if err != nil || s.Name != "x" || s.Status != Failed {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
}

func TestDecodeRejectsBomb(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	var b bytes.Buffer
	gz, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	chunk := bytes.Repeat([]byte("["), 1<<20)
	for range MaxSize>>20 + 1 {
		if _, err := gz.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	text := []byte(base64.StdEncoding.EncodeToString(b.Bytes()))
	if _, err := Decode(text); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Decode: %v", err)
	}
	// Many unterminated strings do not make a summary larger either.
	if _, err := Summarize(bytes.NewReader(text)); err == nil {
		t.Error("Summarize accepted a bomb")
	}
}

func TestDecodeRejectsInvalid(t *testing.T) {
	for _, text := range []string{"", "x", "{", `{"name"`, `{"name":}`, `{"name":1}`, `{"a":"\"`, `{"a" "b"}`, `[]`, `null`,
		`{"info":{"last_deployed":"yesterday"}}`, `{"hooks":[1]}`, `{"a":[}`, `{"a":1 "b":2}`, `{1:2}`} {
		if r, err := Decode(pack(t, text)); err == nil {
			t.Errorf("%q was read as %+v", text, r)
		}
	}
	if _, err := Decode([]byte("not base64!")); err == nil {
		t.Error("text that is not base64 was read")
	}
	r, err := Decode(pack(t, `{"name":"x","chart":{"templates":[null],"metadata":null}}`))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := r.Chart(); err != nil || len(c.Templates) != 0 || c.Name() != "" {
		t.Errorf("chart with nothing in it: %+v, %v", c, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(helm3))
	f.Add([]byte(helm4))
	f.Add([]byte(`{"a":"\\","b":[[{}]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		text := []byte(base64.StdEncoding.EncodeToString(data))
		r, err := Decode(text)
		if err != nil {
			return
		}
		_, _ = r.Chart()
		_, _ = r.Metadata()
		_, _ = Summarize(bytes.NewReader(text))
		if !json.Valid(data) {
			return
		}
		again, err := Encode(r)
		if err != nil {
			return // e.g. a time with a year that JSON does not allow
		}
		if _, err := Decode(again); err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	text := pack(b, strings.Replace(helm3, "---", strings.Repeat("--- some manifest text of usual kind\\n", 20000), 1))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(text); err != nil {
			b.Fatal(err)
		}
	}
}

// The origins of values are kept as they are, and are not written where there are none.
func TestValueOrigins(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"name":"web","origins":{"sources":[{"file":"f"}],"config":[1]}}`, `{"sources":[{"file":"f"}],"config":[1]}`},
		{`{"name":"web","origins":null}`, ``},
		{`{"name":"web"}`, ``},
	} {
		t.Run(c.text, func(t *testing.T) {
			var r Release
			if err := json.Unmarshal([]byte(c.text), &r); err != nil {
				t.Fatal(err)
			}
			if got := string(r.ValueOrigins); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			text, err := json.Marshal(&r)
			if err != nil {
				t.Fatal(err)
			}
			if has := strings.Contains(string(text), `"origins":`+c.want); has != (c.want != "") {
				t.Errorf("got %s", text)
			}
		})
	}
}
