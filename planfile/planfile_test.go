// SPDX-License-Identifier: Apache-2.0

package planfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/moonhelm/moonhelm/plan"
)

// upgrade returns the plan of an upgrade that sets the replicas of a Deployment.
func upgrade(edit ...func(*Document)) *Document {
	d := &Document{
		APIVersion: APIVersion, Kind: Kind, Operation: Upgrade, Created: time.Unix(1e9, 0).UTC(),
		Release: Release{Name: "web", Namespace: "shop", Revision: 2}, Base: Base{Revision: 1, Status: "deployed", Deployed: 1},
		Objects: []Object{
			{Ref: plan.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}, Action: plan.Update,
				UID: "u", ResourceVersion: "1", Changes: []Change{{Path: "spec.replicas", From: int64(1), To: int64(2)}},
				Patch: json.RawMessage(`{"spec":{"replicas":2}}`)},
			{Ref: plan.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web"}, Action: plan.Unchanged},
		},
		Payload: &Payload{Record: "H4s=", Values: map[string]any{"n": int64(1) << 60, "f": 1.5}},
	}
	for _, e := range edit {
		e(d)
	}
	return d
}

func TestRoundTrip(t *testing.T) {
	data, err := upgrade().Encode()
	if err != nil {
		t.Fatal(err)
	}
	d, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if n := d.Payload.Values["n"]; n != int64(1)<<60 {
		t.Errorf("a whole number became %v (%T)", n, n)
	}
	again, err := d.Encode()
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("%v, it became\n%s", err, again)
	}
	if diff := d.Differences(upgrade()); len(diff) > 0 {
		t.Errorf("it differs from itself: %v", diff)
	}
}

func TestDecodeInvalid(t *testing.T) {
	edit := func(from, to string) string {
		data, _ := upgrade().Encode()
		return strings.Replace(string(data), from, to, 1)
	}
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":             {"", "not a valid plan"},
		"another kind":        {`{"apiVersion":"v1","kind":"Pod"}`, `not a plan: it is of kind "Pod"`},
		"another version":     {edit("helm.github.io/v1", "helm.github.io/v2"), `the plan has the version "moonhelm.github.io/v2"`},
		"an unknown key":      {edit(`"operation"`, `"sudo": 1, "operation"`), `unknown field "sudo"`},
		"an operation":        {edit(`"upgrade"`, `"explode"`), `unknown operation "explode"`},
		"two payloads":        {edit(`"payload"`, `"redacted": true, "payload"`), "want one of payload, sealed and redacted"},
		"a rollback with one": {edit(`"upgrade"`, `"rollback"`), "a plan to rollback has no payload"},
		"no release":          {edit(`"name": "web"`, `"name": ""`), "names no release"},
		"a negative time":     {edit(`"options": {`, `"options": {"timeout": -1`), "an option is negative"},
		"more":                {edit("\n}\n", "\n}\n{}"), "invalid character"},
		"another type":        {edit(`"objects": [`, `"objects": 7, "x": [`), "not a valid plan"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(tc.text))
			var e *FormatError
			if !errors.As(err, &e) || !strings.Contains(err.Error(), tc.want) || e.Hint() == "" {
				t.Errorf("the error is %v, want %s", err, tc.want)
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	object := func(edit func(*Object)) func(*Document) {
		return func(d *Document) { edit(&d.Objects[0]) }
	}
	for name, tc := range map[string]struct {
		edit func(*Document)
		want string
	}{
		"nothing":           {func(*Document) {}, ""},
		"a version":         {object(func(o *Object) { o.ResourceVersion = "7" }), ""},
		"when it was made":  {func(d *Document) { d.Created = d.Created.Add(time.Hour) }, ""},
		"a patch":           {object(func(o *Object) { o.Patch = nil }), ""},
		"another API":       {object(func(o *Object) { o.APIVersion = "apps/v2" }), ""},
		"no fields to move": {func(d *Document) { d.Objects[1].Action = plan.Update }, ""},
		"a value":           {object(func(o *Object) { o.Changes[0].From = int64(7) }), "Deployment/web\n- spec.replicas: 1 → 2\n+ spec.replicas: 7 → 2\n"},
		"an object created again": {object(func(o *Object) { o.UID = "v" }),
			"Deployment/web\n- uid: u\n+ uid: v\n"},
		"one that is gone": {func(d *Document) { d.Objects = d.Objects[1:] },
			"Deployment/web\n- update\n- uid: u\n- spec.replicas: 1 → 2\n+ nothing\n"},
		"one that is new": {func(d *Document) {
			d.Objects = append(d.Objects, Object{Ref: plan.Ref{Kind: "Service", Name: "web"}, Action: plan.Delete})
		}, "Service/web\n- nothing\n+ delete\n"},
		"a revision": {func(d *Document) { d.Base.Revision, d.Release.Revision = 2, 3 },
			"release\n- makes revision 2\n- newest revision: 1, deployed\n+ makes revision 3\n+ newest revision: 2, deployed\n"},
		"values": {func(d *Document) { d.Digests.Values = "sha256:ab" }, "digests\n- values: none\n+ values: sha256:ab\n"},
		"hidden": {object(func(o *Object) { o.Changes[0], o.Digest = Change{Path: "spec.replicas", Hidden: true}, "scrypt:1" }),
			"Deployment/web\n- spec.replicas: 1 → 2\n+ spec.replicas: hidden\n+ data: scrypt:1\n"},
		"a hook": {func(d *Document) {
			d.Hooks = []Hook{{Kind: "Job", Name: "a", Events: []string{"pre-upgrade"}, Object: map[string]any{"kind": "Job"}}}
		}, "hooks\n+ Job/a at pre-upgrade, weight 0\n+ Job/a: kind: Job\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := FormatDifferences(upgrade().Differences(upgrade(tc.edit))); got != tc.want {
				t.Errorf("the differences are\n%swant\n%s", got, tc.want)
			}
		})
	}
}

func TestSeal(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	recipients, err := ParseRecipients([]string{key.Recipient().String()})
	if err != nil {
		t.Fatal(err)
	}
	d := upgrade()
	if err := d.Seal(recipients...); err != nil {
		t.Fatal(err)
	}
	data, err := d.Encode()
	if err != nil || bytes.Contains(data, []byte("H4s=")) {
		t.Fatalf("%v, the payload is in\n%s", err, data)
	}
	if d, err = Decode(data); err != nil {
		t.Fatal(err)
	}
	var sealed *SealedError
	for name, identity := range map[string]string{"another": other.String(), "none": "", "no key": "x"} {
		if err := d.Open([]byte(identity)); !errors.As(err, &sealed) {
			t.Errorf("%s identity: %v", name, err)
		}
	}
	if err := d.Open([]byte(key.String())); err != nil {
		t.Fatal(err)
	}
	if d.Payload == nil || d.Payload.Record != "H4s=" || d.Payload.Values["n"] != int64(1)<<60 || d.Sealed != "" {
		t.Errorf("it opened to %+v", d.Payload)
	}
	var recipient *RecipientError
	if _, err := ParseRecipients([]string{"nobody"}); !errors.As(err, &recipient) {
		t.Errorf("the error is %v", err)
	}
}

// The data of Secrets is in no part that is reviewed, and is compared all the same.
func TestSecrets(t *testing.T) {
	object := func(password string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "web"},
			"data": map[string]any{"password": password}}
	}
	ref := plan.Ref{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "web"}
	digest := NewDigester(Release{Name: "web", Namespace: "shop", Revision: 2})
	entry := func(live, want string) Object {
		item := plan.Item{Ref: ref, New: object(want)}
		if live != "" {
			item.Live, item.Old = object(live), []map[string]any{object(live)}
		}
		p, err := plan.Compute([]plan.Item{item}, plan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return NewObject(p.Steps[0], digest.Secret)
	}
	for name, pair := range map[string][2]Object{
		"created":    {entry("", "aHVudGVy"), entry("", "b3RoZXI=")},
		"live value": {entry("aHVudGVy", "c2FtZQ=="), entry("b3RoZXI=", "c2FtZQ==")},
		"new value":  {entry("c2FtZQ==", "aHVudGVy"), entry("c2FtZQ==", "b3RoZXI=")},
	} {
		text, err := json.Marshal(pair)
		if err != nil || bytes.Contains(text, []byte("aHVudGVy")) || bytes.Contains(text, []byte("hunter")) {
			t.Errorf("%s: %v, %s", name, err, text)
		}
		if pair[0].Digest == pair[1].Digest || !strings.HasPrefix(pair[0].Digest, "scrypt:") {
			t.Errorf("%s: the digests are %s and %s", name, pair[0].Digest, pair[1].Digest)
		}
	}
	if a, b := digest.Secret([]byte("x")), NewDigester(Release{Name: "web", Namespace: "other", Revision: 2}).Secret([]byte("x")); a == b {
		t.Error("two releases have the same digest: one list of guesses would do for both")
	}
}

func FuzzDecode(f *testing.F) {
	data, _ := upgrade().Encode()
	f.Add(data)
	f.Add([]byte(`{"apiVersion":"moonhelm.github.io/v1","kind":"Plan"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Decode(data)
		if err != nil {
			return
		}
		d.Differences(d)
		if _, err := d.Encode(); err != nil {
			t.Error(err)
		}
	})
}
