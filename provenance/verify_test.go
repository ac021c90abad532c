// SPDX-License-Identifier: Apache-2.0

package provenance

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// noon is the time of these tests.
var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

// config creates small keys quickly, at noon.
func config() *packet.Config {
	return &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, DefaultHash: crypto.SHA512, Time: at(noon)}
}

func newKey(t testing.TB, name string, c *packet.Config) *openpgp.Entity {
	t.Helper()
	e, err := openpgp.NewEntity(name, "", strings.ToLower(name)+"@example.com", c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func ringOf(keys ...*openpgp.Entity) *Keyring {
	k := &Keyring{Now: at(noon.Add(time.Hour)), path: "ring.gpg"}
	for _, e := range keys {
		c := &certificate{primary: &component{key: e.PrimaryKey}, key: func() *openpgp.Entity { return e }}
		for _, s := range e.Subkeys {
			c.parts = append(c.parts, &component{key: s.PublicKey})
		}
		k.keys = append(k.keys, c)
	}
	return k
}

// signedBy signs any text with keys.
func signedBy(t testing.TB, text string, keys ...*openpgp.Entity) []byte {
	t.Helper()
	return clearWith(t, config(), text, keys...)
}

func clearWith(t testing.TB, c *packet.Config, text string, keys ...*openpgp.Entity) []byte {
	t.Helper()
	var secrets []*packet.PrivateKey
	for _, e := range keys {
		secrets = append(secrets, e.PrivateKey)
	}
	var out bytes.Buffer
	w, err := clearsign.EncodeMulti(&out, secrets, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const archiveText = "these are the bytes of an archive"

// hashOf returns the digest of text in a provenance file.
func hashOf(t testing.TB, text string) string {
	t.Helper()
	d, err := digest(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return "sha256:" + d
}

// body returns the provenance text for archiveText.
func body(t testing.TB) string {
	return "name: web\nversion: 1.0.0\n\n...\nfiles:\n  web-1.0.0.tgz: " + hashOf(t, archiveText) + "\n"
}

func TestVerify(t *testing.T) {
	ann := newKey(t, "Ann", config())
	prov := signedBy(t, body(t), ann)
	for name, text := range map[string][]byte{
		"as it was made":               prov,
		"with an end of line":          append(bytes.Clone(prov), '\n'),
		"with the ends of DOS":         bytes.ReplaceAll(prov, []byte("\n"), []byte("\r\n")),
		"with empty lines around":      []byte("\n\n" + string(prov) + "\n\n"),
		"with a byte order mark":       []byte("\ufeff" + string(prov)),
		"with spaces at ends of lines": bytes.ReplaceAll(prov, []byte("version: 1.0.0\n"), []byte("version: 1.0.0 \t\n")),
		"with more hashes":             signedBy(t, strings.Replace(body(t), "files:\n", "images:\n  a: b\nfiles:\n  other.tgz: sha256:00\n", 1), ann),
		"of two, one of whom is known": signedBy(t, body(t), newKey(t, "Stranger", config()), ann),
		"with a capital hash":          signedBy(t, strings.Replace(body(t), strings.TrimPrefix(hashOf(t, archiveText), "sha256:"), strings.ToUpper(strings.TrimPrefix(hashOf(t, archiveText), "sha256:")), 1), ann),
	} {
		t.Run(name, func(t *testing.T) {
			sig, err := ringOf(newKey(t, "Bob", config()), ann).Verify("web-1.0.0.tgz", strings.NewReader(archiveText), text)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			want := fmt.Sprintf("Signed by: Ann <ann@example.com>\nUsing Key With Fingerprint: %X\nChart Hash Verified: %s", ann.PrimaryKey.Fingerprint, hashOf(t, archiveText))
			if sig.String() != want || !sig.Time.Equal(noon) {
				t.Errorf("%s: got %s at %s", name, sig, sig.Time)
			}
		})
	}
}

func TestVerifyRejectsInvalid(t *testing.T) {
	ann, eve := newKey(t, "Ann", config()), newKey(t, "Eve", config())
	prov := string(signedBy(t, body(t), ann))
	signed := func(from, to string) string { return string(signedBy(t, strings.Replace(body(t), from, to, 1), ann)) }
	hash := hashOf(t, archiveText)
	foreign := string(signedBy(t, body(t), eve))
	for name, test := range map[string]struct{ prov, want string }{
		"nothing (CVE-2026-35205)":      {"", "it is empty"},
		"blank":                         {" \n\n", "it is empty"},
		"a text that is not signed":     {body(t), "it has no signed message"},
		"no signature":                  {prov[:strings.Index(prov, "-----BEGIN PGP SIGNATURE")], "damaged"},
		"half a signature":              {prov[:len(prov)-60], "damaged"},
		"an empty signature":            {prov[:strings.Index(prov, "-----BEGIN PGP SIGNATURE")] + "-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----", "no signature of a known type"},
		"a broken signature":            {strings.Replace(prov, "\n\nw", "\n\n????w", 1), "damaged"},
		"another's metadata":            {strings.Replace(prov, "name: web", "name: wet", 1), "altered"},
		"another hash":                  {strings.Replace(prov, hash, hashOf(t, "evil"), 1), "altered"},
		"a line more":                   {strings.Replace(prov, "files:\n", "files:\n  evil.tgz: "+hash+"\n", 1), "altered"},
		"another's signature":           {prov[:strings.Index(prov, "-----BEGIN PGP SIGNATURE")] + foreign[strings.Index(foreign, "-----BEGIN PGP SIGNATURE"):], "is not a signing key"},
		"a foreign key":                 {foreign, "it is signed with key " + fingerprint(eve) + ", which is not a signing key in keyring ring.gpg"},
		"altered, and a foreign key":    {strings.Replace(string(signedBy(t, body(t), ann, eve)), "name: web", "name: wet", 1), "altered"},
		"text before":                   {"name: evil\n" + prov, "before the signed message"},
		"text after":                    {prov + "\nfiles: {}\n", "after the signature"},
		"text after the end":            {prov + "x", "after the signature"},
		"two messages":                  {prov + "\n" + prov, "after the signature"},
		"a foreign message first":       {foreign + "\n" + prov, "after the signature"},
		"a header that is none":         {strings.Replace(prov, "Hash: SHA512\n", "Hash: SHA512\nfiles: x\n", 1), "damaged"},
		"no dots":                       {signed("...\n", ""), "no line of three dots"},
		"dots twice":                    {signed("...\n", "...\nfiles: {web-1.0.0.tgz: x}\n...\n"), "several lines of three dots"},
		"dots at the end":               {string(signedBy(t, body(t)+"...\n", ann)), "several lines of three dots"},
		"a document more":               {string(signedBy(t, body(t)+"---\nfiles: {}\n", ann)), "there is more than"},
		"files twice":                   {string(signedBy(t, body(t)+"files:\n  web-1.0.0.tgz: "+hash+"\n", ann)), `"files" twice`},
		"a file twice":                  {string(signedBy(t, body(t)+"  web-1.0.0.tgz: "+hashOf(t, "evil")+"\n", ann)), `"web-1.0.0.tgz" twice`},
		"a file twice, one in quotes":   {string(signedBy(t, body(t)+"  \"web-1.0.0.tgz\": "+hashOf(t, "evil")+"\n", ann)), `"web-1.0.0.tgz" twice`},
		"no files":                      {signed("files:", "fires:"), `has no "files"`},
		"files that are a list":         {string(signedBy(t, "a: b\n...\nfiles: [web-1.0.0.tgz]\n", ann)), `has no "files"`},
		"files by reference":            {string(signedBy(t, "a: b\n...\nx: &x {web-1.0.0.tgz: "+hash+"}\nfiles: *x\n", ann)), `has no "files"`},
		"hashes that are a list":        {string(signedBy(t, "a: b\n...\nfiles: {web-1.0.0.tgz: ["+hash+"]}\n", ann)), "not a string"},
		"a name that is a list":         {string(signedBy(t, "a: b\n...\nfiles: {[a]: "+hash+"}\n", ann)), "not a string"},
		"no YAML":                       {signed("files:\n", "files: {\n"), "not YAML"},
		"nothing after the dots":        {string(signedBy(t, "a: b\n...\n", ann)), "not YAML"},
		"another archive's":             {signed("web-1.0.0.tgz", "web-1.0.1.tgz"), "the provenance file contains web-1.0.1.tgz, not this name: was it renamed?"},
		"a weak hash of the file":       {signed(hash, "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709"), "not sha256"},
		"a short hash of the file":      {signed(hash, hash[:40]), "not sha256"},
		"a hash of the file without it": {signed(hash, strings.TrimPrefix(hash, "sha256:")), "not sha256"},
		"another archive's hash":        {signed(hash, hashOf(t, "evil")), "the archive was altered: its hash is " + hash + ", the signed hash is " + hashOf(t, "evil")},
		"too large":                     {prov + strings.Repeat("\n", MaxProvenance), "larger than 8 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			sig, err := ringOf(ann).Verify("web-1.0.0.tgz", strings.NewReader(archiveText), []byte(test.prov))
			if err == nil || sig != nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "web-1.0.0.tgz is not verified: ") {
				t.Errorf("%s: got %v, %v; wanted %q", name, sig, err, test.want)
			}
		})
	}
}

// The files in testdata were created by gpg 2.2 with one key and different hashes.
func TestVerifyRejectsWeakHash(t *testing.T) {
	k, err := Load(t.Context(), filepath.Join("testdata", "rita.asc"))
	if err != nil {
		t.Fatal(err)
	}
	k.Now = at(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	for hash, want := range map[string]string{
		"SHA256": "", "SHA1": "it is signed with a SHA-1 hash, which is not secure", "RIPEMD160": "no signature of a known type",
	} {
		t.Run(hash, func(t *testing.T) {
			prov, err := ReadFile(filepath.Join("testdata", hash+".prov"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = k.Verify("web-1.0.0.tgz", strings.NewReader(archiveText), prov)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %v; wanted %q", hash, err, want)
			}
		})
	}
}

func TestVerifyChecksKey(t *testing.T) {
	short := config()
	short.KeyLifetimeSecs = 60
	brief := newKey(t, "Brief", short)
	gone := newKey(t, "Gone", config())
	prov := signedBy(t, body(t), gone)
	if err := gone.RevokeKey(packet.KeyCompromised, "stolen", config()); err != nil {
		t.Fatal(err)
	}
	ann := newKey(t, "Ann", config())
	sub := newKey(t, "Sub", config())
	if err := sub.AddSigningSubkey(config()); err != nil {
		t.Fatal(err)
	}
	signing := sub.Subkeys[len(sub.Subkeys)-1]
	bySub := signedBy(t, body(t), &openpgp.Entity{PrivateKey: signing.PrivateKey})
	byMain := signedBy(t, body(t), sub)
	for name, test := range map[string]struct {
		key  *openpgp.Entity
		prov []byte
		now  time.Time
		want string // "" for success
	}{
		"while the key is good":       {brief, signedBy(t, body(t), brief), noon.Add(30 * time.Second), ""},
		"when the key has expired":    {brief, signedBy(t, body(t), brief), noon.Add(2 * time.Minute), "Brief <brief@example.com> (" + fingerprint(brief) + ") has expired"},
		"of a key revoked afterwards": {gone, prov, noon.Add(time.Hour), "was revoked"},
		"from the future":             {ann, signedBy(t, body(t), ann), noon.Add(-time.Hour), "future"},
		"by a subkey":                 {sub, bySub, noon.Add(time.Hour), ""},
		"by the main key of the same": {sub, byMain, noon.Add(time.Hour), ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := ringOf(test.key)
			k.Now = at(test.now)
			sig, err := k.Verify("web-1.0.0.tgz", strings.NewReader(archiveText), test.prov)
			switch {
			case test.want == "" && (err != nil || sig.Fingerprint != fingerprint(test.key)):
				t.Errorf("%s: %v, %v", name, sig, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%s: %v; wanted %q", name, err, test.want)
			}
		})
	}
}

func TestErrorTypes(t *testing.T) {
	ann := newKey(t, "Ann", config())
	prov := signedBy(t, body(t), ann)
	var (
		unknown  *UnknownKeyError
		mismatch *MismatchError
		listed   *NotListedError
		verify   *VerifyError
	)
	_, err := ringOf().Verify("web-1.0.0.tgz", strings.NewReader(archiveText), prov)
	if !errors.As(err, &unknown) || !errors.As(err, &verify) || unknown.Keys[0] != fingerprint(ann) {
		t.Errorf("an empty keyring: %v", err)
	}
	if _, err = ringOf(ann).Verify("web-1.0.0.tgz", strings.NewReader("evil"), prov); !errors.As(err, &mismatch) {
		t.Error(err)
	}
	if _, err = ringOf(ann).Verify("other.tgz", strings.NewReader(archiveText), prov); !errors.As(err, &listed) || listed.Listed[0] != "web-1.0.0.tgz" {
		t.Error(err)
	}
	torn := errors.New("torn")
	if _, err = ringOf(ann).Verify("web-1.0.0.tgz", io.MultiReader(strings.NewReader(archiveText), &broken{torn}), prov); !errors.Is(err, torn) {
		t.Error(err)
	}
}

type broken struct{ err error }

func (b *broken) Read([]byte) (int, error) { return 0, b.err }

// CVE-2021-21303: a name cannot look like a line of helm's output.
func TestSignatureStringLines(t *testing.T) {
	const name = "Eve\nSigned by: Ann"
	e := &openpgp.Entity{Identities: map[string]*openpgp.Identity{name: {Name: name}}}
	if got := (&Signature{Signers: userIDs(e)}).String(); !strings.HasPrefix(got, "Signed by: Eve") || strings.Contains(got, "\nSigned by") {
		t.Errorf("%q", got)
	}
}

// The parsed text is the signed text: the parser reads no text that the signature does not
// cover. No input crashes it.
func FuzzParse(f *testing.F) {
	ann := newKey(f, "Ann", config())
	prov := string(signedBy(f, body(f), ann))
	for _, s := range []string{prov, "", body(f), prov + prov, strings.ReplaceAll(prov, "\n", "\r\n"), strings.ReplaceAll(prov, "name", "- name"), prov + "x"} {
		f.Add([]byte(s))
	}
	ring := ringOf(ann)
	f.Fuzz(func(t *testing.T, data []byte) {
		if files, err := listed(data); err == nil && strings.Count("\n"+strings.ReplaceAll(string(data), "\r", "")+"\n", "\n...\n") > 1 {
			t.Errorf("several parts passed: %v", files)
		}
		m, err := parseMessage(data)
		if err != nil {
			return
		}
		if len(m.signatures) == 0 || !bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))), []byte(beginMessage)) {
			t.Error("passed without a signature, or with text before it")
		}
		if _, err := ring.checkSignature(m); err == nil && strings.TrimRight(string(m.text), "\n") != strings.TrimRight(body(t), "\n") {
			t.Errorf("a forgery passed: %q", m.text)
		}
	})
}
