// SPDX-License-Identifier: Apache-2.0

package provenance

import (
	"bytes"
	"crypto"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// joined returns a keyring of the concatenated exports.
func joined(t *testing.T, now time.Time, exports ...[]byte) *Keyring {
	t.Helper()
	k, err := Read(bytes.Join(exports, nil))
	if err != nil {
		t.Fatal(err)
	}
	k.Now = at(now)
	return k
}

// verdict returns the error of verifying prov, "" for success.
func verdict(k *Keyring, prov []byte) string {
	if _, err := k.Verify("web-1.0.0.tgz", strings.NewReader(archiveText), prov); err != nil {
		return err.Error()
	}
	return ""
}

// GnuPG merges copies of a key on import and verifies with the result. It is the reference for
// the same copies.
func TestReadMergesCopies(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	made := fmt.Sprint(time.Now().Add(-time.Hour).Unix())
	for name, test := range map[string]struct {
		expire string // expiry of the key at its creation
		change func(g gnuPG, id string)
		later  time.Duration // time until the verification
		by     func(g gnuPG, id string) string
		want   string // part of the error, "" for success
	}{
		"revoked": {
			change: func(g gnuPG, id string) { g.revoke(id) }, want: "was revoked",
		},
		"extended": {
			expire: "1d", later: 48 * time.Hour,
			change: func(g gnuPG, id string) { g.run("--quick-set-expire", id, "1y") },
		},
		"cut short": {
			expire: "1y", later: 48 * time.Hour, want: "has expired",
			change: func(g gnuPG, id string) { g.run("--quick-set-expire", id, "1d") },
		},
		"signed by a subkey that the first copy lacks": {
			change: func(g gnuPG, id string) { g.subkey(id) }, by: gnuPG.lastKey,
		},
		"signed by a subkey that was revoked": {
			change: func(g gnuPG, id string) {
				g.subkey(id)
				g.edit(id, "key 1\nrevkey\ny\n0\n\ny\nsave\n")
			},
			by: func(g gnuPG, id string) string { return g.lastKey(id) }, want: "was revoked",
		},
		"signed by a subkey that has expired": {
			change: func(g gnuPG, id string) { g.subkey(id); g.run("--quick-set-expire", id, "1d", "*") },
			later:  48 * time.Hour, by: gnuPG.lastKey, want: "has expired",
		},
		"with a new name": {
			change: func(g gnuPG, id string) { g.run("--quick-add-uid", id, "Nora <nora@example.com>") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGnuPG(t)
			expire := test.expire
			if expire == "" {
				expire = "never"
			}
			g.run("--faked-system-time", made, "--pinentry-mode", "loopback", "--passphrase", "", "--quick-gen-key", "Edda <edda@example.com>", "ed25519", "sign", expire)
			id := g.fingerprint("edda")
			first := g.run("--export", id)
			signer := func() string { return id }
			if test.by != nil {
				signer = func() string { return test.by(g, id) }
			}
			var prov []byte
			if test.by == nil { // GnuPG does not sign with a revoked key
				prov = g.clearsign(signer())
			}
			test.change(g, id)
			if test.by != nil {
				prov = g.clearsignAnyway(signer())
			}
			second := g.run("--export", id)
			when := time.Now().Add(test.later + time.Second)
			for order, exports := range map[string][][]byte{"the older copy first": {first, second}, "the newer copy first": {second, first}, "three copies": {first, second, first}} {
				got := verdict(joined(t, when, exports...), prov)
				if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
					t.Errorf("%s: got %q, want %q", order, got, test.want)
				}
				if status := verifiedByGnuPG(t, when, prov, exports...); strings.Contains(status, "GOODSIG") != (test.want == "") {
					t.Errorf("%s: GnuPG says\n%s", order, status)
				}
			}
		})
	}
}

// verifiedByGnuPG imports exports into a new home directory and returns the status of verifying
// prov.
func verifiedByGnuPG(t *testing.T, now time.Time, prov []byte, exports ...[]byte) string {
	t.Helper()
	g := newGnuPG(t)
	for _, e := range exports {
		g.run("--import", g.file("key.gpg", e))
	}
	out, _ := exec.Command("gpg", "--homedir", g.home, "--batch", "--quiet", "--status-fd", "1", "--faked-system-time", fmt.Sprint(now.Unix()),
		"--verify", g.file("web.prov", prov)).Output() // the status has the result
	return string(out)
}

// fingerprint returns the fingerprint of the primary key of a user.
func (g gnuPG) fingerprint(user string) string { return g.keys(user)[0] }

// lastKey returns the fingerprint of the newest subkey of a user.
func (g gnuPG) lastKey(user string) string {
	keys := g.keys(user)
	return keys[len(keys)-1]
}

func (g gnuPG) keys(user string) []string {
	var ids []string
	for line := range strings.Lines(string(g.run("--list-keys", "--with-colons", "--with-fingerprint", "--with-fingerprint", user))) {
		if fields := strings.Split(line, ":"); fields[0] == "fpr" {
			ids = append(ids, fields[9])
		}
	}
	return ids
}

func (g gnuPG) subkey(id string) {
	g.run("--pinentry-mode", "loopback", "--passphrase", "", "--quick-add-key", id, "ed25519", "sign", "never")
}

func (g gnuPG) revoke(id string) {
	g.t.Helper()
	certificate, err := os.ReadFile(filepath.Join(g.home, "openpgp-revocs.d", id+".rev"))
	if err != nil {
		g.t.Fatal(err)
	}
	g.run("--import", g.file("revoked", bytes.Replace(certificate, []byte("\n:-----"), []byte("\n-----"), 1)))
}

func (g gnuPG) edit(id, commands string) {
	g.t.Helper()
	cmd := exec.Command("gpg", "--homedir", g.home, "--batch", "--quiet", "--no-tty", "--pinentry-mode", "loopback", "--passphrase", "", "--command-fd", "0", "--edit-key", id)
	cmd.Stdin = strings.NewReader(commands)
	if out, err := cmd.CombinedOutput(); err != nil {
		g.t.Fatalf("gpg --edit-key: %v\n%s", err, out)
	}
}

// clearsign signs the provenance of archiveText with exactly one key.
func (g gnuPG) clearsign(id string, options ...string) []byte {
	g.t.Helper()
	return g.run(append(options, "--pinentry-mode", "loopback", "--passphrase", "", "--digest-algo", "SHA512", "--local-user", id+"!",
		"--output", "-", "--clear-sign", g.file("text", []byte(body(g.t))))...)
}

// clearsignAnyway signs with the secret key even if gpg refuses because of later changes of the
// public key.
func (g gnuPG) clearsignAnyway(id string) []byte {
	g.t.Helper()
	secret := g.run("--pinentry-mode", "loopback", "--passphrase", "", "--export-secret-keys", id)
	k, err := Read(secret)
	if err != nil {
		g.t.Fatal(err)
	}
	e := k.entities()[0]
	for _, sub := range e.Subkeys {
		if fmt.Sprintf("%X", sub.PublicKey.Fingerprint) == id {
			return clearAt(g.t, time.Now(), body(g.t), &openpgp.Entity{PrivateKey: sub.PrivateKey})
		}
	}
	g.t.Fatalf("there is no subkey %s", id)
	return nil
}

// TestHashesOfSelfSignatures compares which hashes of self-signatures GnuPG and this package
// accept.
func TestHashesOfSelfSignatures(t *testing.T) {
	for hash, want := range map[string]bool{"SHA512": true, "SHA1": true, "MD5": false} {
		t.Run(hash, func(t *testing.T) {
			g := newGnuPG(t)
			g.run("--pinentry-mode", "loopback", "--passphrase", "", "--cert-digest-algo", hash, "--quick-gen-key", "Rita <rita@example.com>", "rsa2048", "sign", "never")
			export := g.run("--export")
			secret, err := openpgp.ReadKeyRing(bytes.NewReader(export))
			if want && (err != nil || secret[0].PrimaryIdentity().SelfSignature.Hash.String() == "") {
				t.Fatal(err)
			}
			k, err := Read(export)
			if !want {
				if err == nil {
					t.Errorf("a key signed over %s was read as %v", hash, names(k))
				}
				listed := string(g.run("--list-keys", "--with-colons"))
				if !strings.HasPrefix(listed[strings.Index(listed, "pub:"):], "pub:i") {
					t.Errorf("GnuPG takes it:\n%s", listed)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			prov := g.clearsign(g.fingerprint("rita"))
			if got := verdict(k, prov); got != "" {
				t.Errorf("got %q", got)
			}
			if status := verifiedByGnuPG(t, time.Now(), prov, export); !strings.Contains(status, "GOODSIG") {
				t.Errorf("GnuPG says\n%s", status)
			}
		})
	}
}

// clearAt is like signedBy with another time than noon.
func clearAt(t testing.TB, when time.Time, text string, key *openpgp.Entity) []byte {
	t.Helper()
	c := config()
	c.Time = at(when)
	return clearWith(t, c, text, key)
}

func TestVerifyRejectsSignatureBeforeKey(t *testing.T) {
	c := config()
	c.Time = at(noon.Add(time.Hour))
	late := newKey(t, "Late", c)
	sub := newKey(t, "Sub", config())
	if err := sub.AddSigningSubkey(c); err != nil {
		t.Fatal(err)
	}
	subkey := &openpgp.Entity{PrivateKey: sub.Subkeys[len(sub.Subkeys)-1].PrivateKey}
	for name, test := range map[string]struct {
		key  *openpgp.Entity
		prov []byte
		want string
	}{
		"older than the key":           {late, signedBy(t, body(t), late), "before its key was created"},
		"a second older":               {late, clearAt(t, noon.Add(time.Hour-time.Second), body(t), late), "before its key was created"},
		"of the same second":           {late, clearAt(t, noon.Add(time.Hour), body(t), late), ""},
		"older than the subkey":        {sub, signedBy(t, body(t), subkey), "before its key was created"},
		"older than another subkey":    {sub, signedBy(t, body(t), sub), ""},
		"as old as the subkey is":      {sub, clearAt(t, noon.Add(time.Hour), body(t), subkey), ""},
		"by the key, after the subkey": {sub, clearAt(t, noon.Add(2*time.Hour), body(t), sub), ""},
	} {
		t.Run(name, func(t *testing.T) {
			export := packets(t, test.key)
			got := verdict(joined(t, noon.Add(3*time.Hour), export), test.prov)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if status := verifiedByGnuPG(t, noon.Add(3*time.Hour), test.prov, export); strings.Contains(status, "GOODSIG") != (test.want == "") {
				t.Errorf("GnuPG says\n%s", status)
			}
		})
	}
}

// signedID returns a user ID with signatures of these types and times.
func signedID(t *testing.T, e *openpgp.Entity, name string, signatures ...*packet.Signature) []byte {
	t.Helper()
	var b bytes.Buffer
	id := packet.NewUserId(name, "", "")
	if err := id.Serialize(&b); err != nil {
		t.Fatal(err)
	}
	for _, s := range signatures {
		c := config()
		c.Time = at(s.CreationTime)
		if err := s.SignUserId(id.Id, e.PrimaryKey, e.PrivateKey, c); err != nil {
			t.Fatal(err)
		}
		if err := s.Serialize(&b); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func selfSignature(e *openpgp.Entity, kind packet.SignatureType, when time.Time, change ...func(*packet.Signature)) *packet.Signature {
	s := &packet.Signature{
		Version: e.PrimaryKey.Version, SigType: kind, PubKeyAlgo: e.PrimaryKey.PubKeyAlgo, Hash: crypto.SHA512,
		CreationTime: when, IssuerKeyId: &e.PrimaryKey.KeyId, FlagsValid: true, FlagSign: true, FlagCertify: true,
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func TestNewestSelfSignature(t *testing.T) {
	e := newKey(t, "Ann", config())
	eve := newKey(t, "Eve", config())
	var primary bytes.Buffer
	if err := e.PrimaryKey.Serialize(&primary); err != nil {
		t.Fatal(err)
	}
	const cert, revocation = packet.SigTypePositiveCert, packet.SigTypeCertificationRevocation
	expired := func(s *packet.Signature) { seconds := uint32(60); s.KeyLifetimeSecs = &seconds }
	prov := signedBy(t, body(t), e)
	// sig returns a signature with a time in minutes.
	sig := func(kind packet.SignatureType, minutes int, change ...func(*packet.Signature)) *packet.Signature {
		return selfSignature(e, kind, noon.Add(time.Duration(minutes)*time.Minute), change...)
	}
	altered := func(data []byte) []byte {
		data = bytes.Clone(data)
		data[len(data)-1] ^= 1
		return data
	}
	for name, test := range map[string]struct {
		parts   [][]byte
		want    string
		signers []string
	}{
		"one":                          {[][]byte{signedID(t, e, "Ann", sig(cert, 0))}, "", []string{"Ann"}},
		"the newer one has expired":    {[][]byte{signedID(t, e, "Ann", sig(cert, 0), sig(cert, 1, expired))}, "has expired", nil},
		"the older one has expired":    {[][]byte{signedID(t, e, "Ann", sig(cert, 1), sig(cert, 0, expired))}, "", []string{"Ann"}},
		"of two kinds, the newer":      {[][]byte{signedID(t, e, "Ann", sig(packet.SigTypeGenericCert, 1, expired), sig(cert, 0))}, "has expired", nil},
		"revoked":                      {[][]byte{signedID(t, e, "Ann", sig(cert, 0), sig(revocation, 1))}, "revoked", nil},
		"revoked, and signed again":    {[][]byte{signedID(t, e, "Ann", sig(cert, 2), sig(revocation, 1))}, "", []string{"Ann"}},
		"one of two names is revoked":  {[][]byte{signedID(t, e, "Ann", sig(cert, 0), sig(revocation, 1)), signedID(t, e, "Ann B.", sig(cert, 0))}, "", []string{"Ann B."}},
		"a name that another claims":   {[][]byte{signedID(t, e, "Ann", sig(cert, 0)), signedID(t, eve, "Bob", selfSignature(eve, cert, noon))}, "", []string{"Ann"}},
		"revoked by another":           {[][]byte{signedID(t, e, "Ann", sig(cert, 0)), signedID(t, eve, "Ann", selfSignature(eve, revocation, noon))[5:]}, "", []string{"Ann"}},
		"the newer one is damaged":     {[][]byte{altered(signedID(t, e, "Ann", sig(cert, 0), sig(cert, 1, expired)))}, "", []string{"Ann"}},
		"older than the key":           {[][]byte{signedID(t, e, "Ann", sig(cert, 0), sig(revocation, -1))}, "", []string{"Ann"}},
		"the same twice":               {[][]byte{signedID(t, e, "Ann", sig(cert, 0)), signedID(t, e, "Ann", sig(cert, 0))}, "", []string{"Ann"}},
		"the revocation in the second": {[][]byte{signedID(t, e, "Ann", sig(cert, 0)), signedID(t, e, "Ann", sig(revocation, 1))}, "revoked", nil},
	} {
		t.Run(name, func(t *testing.T) {
			k := joined(t, noon.Add(time.Hour), append([][]byte{primary.Bytes()}, test.parts...)...)
			s, err := k.Verify("web-1.0.0.tgz", strings.NewReader(archiveText), prov)
			switch {
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, %v, want %q", s, err, test.want)
			case test.want == "" && (err != nil || !slices.Equal(s.Signers, test.signers)):
				t.Errorf("got %v, %v, want %q", s, err, test.signers)
			}
		})
	}
}

func TestReadMergesSecretKey(t *testing.T) {
	ann := newKey(t, "Ann", config())
	for name, data := range map[string][]byte{
		"public first": append(packets(t, ann), secretPackets(t, ann)...), "secret first": append(secretPackets(t, ann), packets(t, ann)...),
	} {
		t.Run(name, func(t *testing.T) {
			k := joined(t, noon.Add(time.Hour), data)
			if got := len(k.entities()); got != 1 {
				t.Errorf("%s: got %d keys, want 1", name, got)
			}
			if _, err := k.Signer("Ann"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// used returns the number of bytes that f allocates.
func used(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// An invalid keyring of 256 MB took 600 MB and more.
func TestReadRejectsInvalidFast(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	ann := packets(t, newKey(t, "Ann", config()))
	const size = 32 << 20
	noise := make([]byte, size)
	state := uint32(1)
	for i := range noise {
		state = state*1664525 + 1013904223
		noise[i] = byte(state >> 24)
	}
	fill := func(head []byte, with ...byte) []byte {
		out := bytes.Clone(head)
		return append(out, bytes.Repeat(with, (size-len(head))/len(with))...)
	}
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"zeros":                         {make([]byte, size), "not an OpenPGP keyring"},
		"noise":                         {noise, "not an OpenPGP keyring"},
		"text":                          {fill(nil, 'a'), "not an OpenPGP keyring"},
		"empty lines":                   {fill(nil, '\n'), "not an OpenPGP keyring"},
		"keys without end":              {fill(nil, 0xc0|tagPublicKey, 0), "more than 200000 packets"},
		"a key in parts":                {fill([]byte{0xc0 | tagPublicKey, 0xfe}, 4), "not an OpenPGP keyring"},
		"parts after a key":             {fill(append(bytes.Clone(ann), 0xc0|tagUserID, 0xfe), 'a'), "it is damaged"},
		"compressed data after a key":   {fill(append(bytes.Clone(ann), 0xa3), 1, 0), "it is damaged"},
		"one large packet after a key":  {fill(append(bytes.Clone(ann), 0xc0|tagUserID, 0xff, 1, 0xff, 0, 0), 'a'), "larger than 256 KiB"},
		"user ids without end":          {fill(ann, 0xc0|tagUserID, 0), "more than 200000 packets"},
		"a key without end":             {fill(ann, ann...), "more than 200000 packets"},
		"armour without end":            {fill([]byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n"), []byte("aaaa\n")...), "one of its blocks"},
		"blocks of armour without end":  {fill(nil, []byte(begin)...), "one of its blocks"},
		"armour of nothing":             {fill([]byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n"), []byte("AAAA\n")...), "one of its blocks"},
		"a keybox of nothing":           {fill(keybox(), 0, 0, 0, 5, 0), ""},
		"a keybox of a key without end": {keybox(fill(ann, ann...)), "more than 200000 packets"},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			cost := used(func() { _, err = Read(test.data) })
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if most := uint64(16 * size); cost > most { // total, of which a fraction at a time
				t.Errorf("it took %d MB, want %d MB at most", cost>>20, most>>20)
			}
		})
	}
}

func TestLoadSizeLimit(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sparse files and devices")
	}
	sparse := filepath.Join(t.TempDir(), "ring.gpg")
	if err := os.WriteFile(sparse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, 1<<30); err != nil {
		t.Skip("this disk has no sparse files:", err)
	}
	for path, want := range map[string]string{sparse: "it is larger than 64 MiB", "/dev/zero": "this is a device", os.DevNull: "this is a device"} {
		t.Run(path, func(t *testing.T) {
			var err error
			cost := used(func() { _, err = Load(t.Context(), path) })
			if err == nil || !strings.HasPrefix(err.Error(), "keyring "+path+": ") || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", path, err, want)
			}
			if cost > 1<<20 {
				t.Errorf("%s took %d MB", path, cost>>20)
			}
		})
	}
}
