// SPDX-License-Identifier: Apache-2.0

package provenance

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
)

// packets returns keys in the format of gpg --export.
func packets(t testing.TB, keys ...*openpgp.Entity) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, e := range keys {
		if err := e.Serialize(&b); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func secretPackets(t testing.TB, keys ...*openpgp.Entity) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, e := range keys {
		if err := e.SerializePrivateWithoutSigning(&b, nil); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func armoured(t testing.TB, kind string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := armor.Encode(&b, kind, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), '\n')
}

// keybox returns a keybox of keys with the parts that are read.
func keybox(parts ...[]byte) []byte {
	out := make([]byte, 32)
	binary.BigEndian.PutUint32(out, 32)
	out[4] = keyboxHeader
	copy(out[8:], keyboxMagic)
	for _, p := range parts {
		blob := make([]byte, 40, 40+len(p)+20)
		blob = append(append(blob, p...), make([]byte, 20)...)
		binary.BigEndian.PutUint32(blob, uint32(len(blob)))
		blob[4] = keyboxOpenPGP
		binary.BigEndian.PutUint32(blob[8:], 40)
		binary.BigEndian.PutUint32(blob[12:], uint32(len(p)))
		out = append(out, blob...)
	}
	return out
}

func names(k *Keyring) []string {
	var out []string
	for _, e := range k.entities() {
		out = append(out, userIDs(e)[0])
	}
	return out
}

func TestReadKeyrings(t *testing.T) {
	ann, bob := newKey(t, "Ann", config()), newKey(t, "Bob", config())
	public := func(keys ...*openpgp.Entity) []byte { return armoured(t, openpgp.PublicKeyType, packets(t, keys...)) }
	both := []string{"Ann <ann@example.com>", "Bob <bob@example.com>"}
	certificate := []byte{0, 0, 0, 6, 3, 0}
	for name, test := range map[string]struct {
		data []byte
		want []string
	}{
		"nothing":                          {nil, nil},
		"an export":                        {packets(t, ann, bob), both},
		"secret keys":                      {secretPackets(t, ann, bob), both},
		"armour":                           {public(ann, bob), both},
		"armour with empty lines":          {append([]byte("\n\n"), public(ann, bob)...), both},
		"two exports, one after the other": {append(public(ann), public(bob)...), both},
		"public and secret ones":           {append(public(ann), armoured(t, openpgp.PrivateKeyType, secretPackets(t, bob))...), both},
		"a keybox":                         {keybox(packets(t, ann), packets(t, bob)), both},
		"a keybox with a bad key":          {keybox(packets(t, ann), []byte("nonsense"), packets(t, bob)), both},
		"a keybox with a certificate":      {append(keybox(packets(t, ann)), append(certificate, keybox(packets(t, bob))[32:]...)...), both},
		"a keybox without keys":            {keybox(), nil},
		"an export with something odd":     {append(packets(t, ann), append([]byte{0xc0 | 60, 1, 0}, packets(t, bob)...)...), both},
	} {
		t.Run(name, func(t *testing.T) {
			k, err := Read(test.data)
			if err != nil || !slices.Equal(names(k), test.want) {
				t.Errorf("%s: %v, %v", name, k, err)
			}
		})
	}
	long := keybox(packets(t, ann))
	beyond := bytes.Clone(long)
	binary.BigEndian.PutUint32(beyond[32+12:], 1<<32-1)
	for name, data := range map[string][]byte{
		"a text":                  []byte("my keys are elsewhere\n"),
		"a web page":              []byte("<html>"),
		"another armour":          armoured(t, "PGP MESSAGE", packets(t, ann)),
		"damaged armour":          bytes.Replace(public(ann), []byte("\n\n"), []byte("\n\n\x00"), 1),
		"half an export":          packets(t, ann)[:20],
		"half a keybox":           long[:len(long)-1],
		"half a head in a keybox": append(bytes.Clone(long), 0, 0, 0),
		"a keybox of tiny blobs":  append(bytes.Clone(long), 0, 0, 0, 0, 2),
		"a keybox of short blobs": append(bytes.Clone(long), 0, 0, 0, 6, 2, 0),
		"a key beyond its blob":   beyond,
	} {
		t.Run(name, func(t *testing.T) {
			if k, err := Read(data); err == nil {
				t.Errorf("%s: was read as %v", name, names(k))
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	ann := newKey(f, "Ann", config())
	for _, data := range [][]byte{packets(f, ann), keybox(packets(f, ann)), armoured(f, openpgp.PublicKeyType, packets(f, ann)), nil, {0, 0, 0, 0, 1}} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := Read(data)
		if err != nil {
			return
		}
		for _, e := range k.entities() {
			title(e)
		}
		_, _ = k.find("a")
	})
}

// GnuPG 2.1 replaced pubring.gpg by pubring.kbx; all manuals still name the former.
func TestLoadKeyboxInsteadOfOldKeyring(t *testing.T) {
	dir := t.TempDir()
	ann, bob := newKey(t, "Ann", config()), newKey(t, "Bob", config())
	old, box := filepath.Join(dir, "pubring.gpg"), filepath.Join(dir, "pubring.kbx")
	if _, err := Load(t.Context(), old); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), old+": no such file or directory") {
		t.Error(err)
	}
	if err := os.WriteFile(box, keybox(packets(t, ann)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pubring.gpg", "secring.gpg", "pubring.kbx"} {
		t.Run(name, func(t *testing.T) {
			k, err := Load(t.Context(), filepath.Join(dir, name))
			if err != nil || k.Path() != box || len(k.entities()) != 1 {
				t.Errorf("%s: %v, %v", name, k, err)
			}
		})
	}
	if _, err := Load(t.Context(), filepath.Join(dir, "mine.gpg")); err == nil {
		t.Error("another keyring was taken for one that was named")
	}
	if err := os.WriteFile(old, packets(t, bob), 0o600); err != nil {
		t.Fatal(err)
	}
	if k, err := Load(t.Context(), old); err != nil || k.Path() != old || names(k)[0] != "Bob <bob@example.com>" {
		t.Errorf("%v, %v", k, err)
	}
	if _, err := Load(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "keyring "+dir) {
		t.Errorf("a directory: %v", err)
	}
	var keyring *KeyringError
	if err := os.WriteFile(box, []byte("?"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(t.Context(), box); !errors.As(err, &keyring) || keyring.Path != box {
		t.Error(err)
	}
}

func TestReadFileSizeLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "huge.prov")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 40); err != nil {
		t.Skip("this disk has no sparse files:", err)
	}
	if data, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), "larger than 8 MiB") || len(data) > MaxProvenance+1 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestFindKey(t *testing.T) {
	joann, ann, bob := newKey(t, "Joann", config()), newKey(t, "Ann", config()), newKey(t, "Bob", config())
	brief := config()
	brief.KeyLifetimeSecs = 1
	formerBob := newKey(t, "Bob", brief)
	other := newKey(t, "Carl", config())
	other.PrivateKey = nil
	ring := ringOf(joann, ann, formerBob, bob, other)
	for name, want := range map[string]*openpgp.Entity{
		"Bob": bob, "bob@": bob, "Joann": joann, "joann@example.com": joann, "Carl": other,
		"ann@example.com": ann, "Ann <ann@example.com>": ann, // a complete match has precedence
		fingerprint(joann): joann, strings.ToLower(fingerprint(joann)): joann, "0x" + fingerprint(ann)[24:]: ann,
		fingerprint(formerBob): formerBob, fingerprint(bob)[32:]: bob,
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := ring.find(name); err != nil || got != want {
				t.Errorf("%q: %v, %v", name, got, err)
			}
		})
	}
	for name, want := range map[string]string{
		"example.com": "more than one key in ring.gpg contains \"example.com\":\n  Joann <joann@example.com> (" + fingerprint(joann) + ")\n  Ann",
		"nn":          "more than one key",
		"BOB":         "there is no key \"BOB\" in ring.gpg, which has:\n  Joann <joann@",
		"ABCDEF01":    "there is no key",
		"":            "more than one key",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := ring.find(name); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%q: %v, %v", name, got, err)
			}
		})
	}
	if _, err := ringOf().find("ann"); err == nil || !strings.Contains(err.Error(), "no keys at all") {
		t.Error(err)
	}
	var many []*openpgp.Entity
	for range 14 {
		many = append(many, newKey(t, "Same", config()))
	}
	if _, err := ringOf(many...).find("Same"); err == nil || !strings.HasSuffix(err.Error(), "\n  and 4 more") {
		t.Error(err)
	}
}

func TestSign(t *testing.T) {
	ann := newKey(t, "Ann", config())
	locked := newKey(t, "Lock", config())
	if err := locked.EncryptPrivateKeys([]byte("sesame"), nil); err != nil {
		t.Fatal(err)
	}
	sub := newKey(t, "Sub", config())
	if err := sub.AddSigningSubkey(config()); err != nil {
		t.Fatal(err)
	}
	sub.PrivateKey = nil // as if the primary key were stored offline
	ring := ringOf(ann, locked, sub)
	for _, name := range []string{"Ann", "Lock", "Sub"} {
		t.Run(name, func(t *testing.T) {
			s, err := ring.Signer(name)
			if err != nil {
				t.Fatal(err)
			}
			requests := 0
			s.Passphrase = func() ([]byte, error) { requests++; return []byte("sesame"), nil }
			for range 2 {
				prov, err := s.Sign(t.Context(), "web-1.0.0.tgz", strings.NewReader(archiveText), []byte("name: web\nx: |\n  -----BEGIN PGP SIGNATURE-----\n  ...\n"))
				if err != nil {
					t.Fatal(name, err)
				}
				want := "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\nname: web\nx: |\n  -----BEGIN PGP SIGNATURE-----\n  ...\n\n...\nfiles:\n  web-1.0.0.tgz: " + hashOf(t, archiveText) + "\n\n-----BEGIN PGP SIGNATURE-----\n\n"
				if !strings.HasPrefix(string(prov), want) || !strings.HasSuffix(string(prov), "\n-----END PGP SIGNATURE-----") {
					t.Errorf("%s: %s", name, prov)
				}
				if sig, err := ring.Verify("web-1.0.0.tgz", strings.NewReader(archiveText), prov); err != nil || !strings.HasPrefix(sig.Signers[0], name) {
					t.Errorf("%s: %v, %v", name, sig, err)
				}
			}
			if want := map[string]int{"Lock": 1}[name]; requests != want {
				t.Errorf("%s: the passphrase was wanted %d times", name, requests)
			}
		})
	}
}

func TestSignErrors(t *testing.T) {
	brief := config()
	brief.KeyLifetimeSecs = 1
	expired := newKey(t, "Old", brief)
	public := newKey(t, "Pub", config())
	public.PrivateKey = nil
	ring := ringOf(newKey(t, "Ann", config()), expired, public)
	ring.path = filepath.Join(t.TempDir(), "ring.gpg")
	var (
		unfit    *UnfitKeyError
		noSecret *NoSecretError
		noName   *KeyNameError
	)
	if _, err := ring.Signer("Old"); !errors.As(err, &unfit) {
		t.Error(err)
	}
	if _, err := ring.Signer("Pub"); !errors.As(err, &noSecret) {
		t.Error(err)
	}
	if _, err := ring.Signer("Eve"); !errors.As(err, &noName) {
		t.Error(err)
	}
	s, err := ring.Signer("Ann")
	if err != nil {
		t.Fatal(err)
	}
	torn := errors.New("torn")
	for name, try := range map[string]func() ([]byte, error){
		"a text that breaks out": func() ([]byte, error) {
			return s.Sign(t.Context(), "a.tgz", strings.NewReader(""), []byte("a: b\n...\nfiles: {}\n"))
		},
		"an archive that is torn": func() ([]byte, error) {
			return s.Sign(t.Context(), "a.tgz", io.MultiReader(&broken{torn}), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if prov, err := try(); err == nil || prov != nil {
				t.Errorf("%s: %s", name, prov)
			}
		})
	}
}

func TestLockedKeys(t *testing.T) {
	locked := newKey(t, "Lock", config())
	if err := locked.EncryptPrivateKeys([]byte("sesame"), nil); err != nil {
		t.Fatal(err)
	}
	data := secretPackets(t, locked)
	signer := func() *Signer {
		k, err := Read(data)
		if err != nil {
			t.Fatal(err)
		}
		k.Now = ringOf().Now
		s, err := k.Signer("Lock")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	sign := func(s *Signer) error {
		_, err := s.Sign(t.Context(), "a.tgz", strings.NewReader("a"), []byte("name: a\n"))
		return err
	}
	var key *LockedKeyError
	if err := sign(signer()); !errors.As(err, &key) || key.Wrong {
		t.Error(err)
	}
	s := signer()
	s.Passphrase = func() ([]byte, error) { return []byte("guess"), nil }
	if err := sign(s); !errors.As(err, &key) || !key.Wrong || strings.Contains(err.Error(), "guess") {
		t.Error(err)
	}
	s.Passphrase = func() ([]byte, error) { return nil, fs.ErrNotExist }
	if err := sign(s); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for typed, want := range map[string]int{"a,b,sesame": 3, "sesame": 1, "a,b,c,sesame": 3} {
		t.Run(typed, func(t *testing.T) {
			s, requests := signer(), 0
			s.Ask = asking(t, strings.Split(typed, ","), &requests)
			if err := sign(s); requests != want || (err == nil) != (typed != "a,b,c,sesame") {
				t.Errorf("%s: asked %d times, %v", typed, requests, err)
			}
		})
	}
}

// GnuPG before 2.1 had secret keys in a second file.
func TestOldGnuPGSecretKeys(t *testing.T) {
	dir := t.TempDir()
	ann := newKey(t, "Ann", config())
	for name, data := range map[string][]byte{"pubring.gpg": packets(t, ann), "secring.gpg": secretPackets(t, newKey(t, "Bob", config()), ann)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k, err := Load(t.Context(), filepath.Join(dir, "pubring.gpg"))
	if err != nil {
		t.Fatal(err)
	}
	k.Now = ringOf().Now
	s, err := k.Signer("Ann")
	if err != nil {
		t.Fatal(err)
	}
	prov, err := s.Sign(t.Context(), "a.tgz", strings.NewReader("a"), []byte("name: a\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Verify("a.tgz", strings.NewReader("a"), prov); err != nil {
		t.Error(err)
	}
}

// asking returns a Signer.Ask that returns the given answers.
func asking(t *testing.T, typed []string, requests *int) func(context.Context, string) ([]byte, error) {
	return func(_ context.Context, key string) ([]byte, error) {
		if !strings.HasPrefix(key, "Lock <lock@example.com> (") {
			t.Errorf("asked for %q", key)
		}
		*requests++
		return []byte(typed[*requests-1]), nil
	}
}
