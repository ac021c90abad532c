// SPDX-License-Identifier: Apache-2.0

package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// The shells to test get-moonhelm with. sh differs between systems.
var shells = []string{"sh", "dash", "bash"}

// platforms are the platforms of a release with the output of uname.
var platforms = []struct{ system, machine, name string }{
	{"Linux", "x86_64", "linux-amd64"},
	{"Linux", "aarch64", "linux-arm64"},
	{"Linux", "armv7l", "linux-arm"},
	{"Linux", "i686", "linux-386"},
	{"Linux", "ppc64le", "linux-ppc64le"},
	{"Linux", "s390x", "linux-s390x"},
	{"Linux", "riscv64", "linux-riscv64"},
	{"Darwin", "x86_64", "darwin-amd64"},
	{"Darwin", "arm64", "darwin-arm64"},
}

// A case is one run of the installer with a new server and home directory.
type installerCase struct {
	args    []string
	env     []string
	spoil   func(site map[string][]byte) // introduces an error into the server's files
	without []string                     // programs that are missing from PATH
	there   string                       // script that is already installed as helm in --dir
	system  string                       // output of uname -s and -m; Linux x86_64 if empty
	machine string

	wantCode int
	wantOut  []string // parts of the output
	wantHelm string   // version output of the installed helm; "" if none must be installed
}

const (
	archive    = "/download/v0.2.0/helm-v0.2.0-linux-amd64.tar.gz"
	installed  = "v4.3.1+moonhelm.0.2.0"
	oldVersion = "v4.3.1+moonhelm.0.1.0"
)

var installerCases = map[string]installerCase{
	"the newest version": {
		wantOut:  []string{"checksum is right", "signature is valid: Moonhelm Test", "v0.2.0 is installed", "not in your PATH"},
		wantHelm: installed,
	},
	"a version that is named": {
		args: []string{"--version", "v0.1.0"}, wantOut: []string{"v0.1.0 is installed"}, wantHelm: oldVersion,
	},
	"a version without its v": {
		args: []string{"--version=0.1.0"}, wantOut: []string{"v0.1.0 is installed"}, wantHelm: oldVersion,
	},
	"the variables of get-helm-3": {
		env: []string{"DESIRED_VERSION=v0.1.0"}, wantOut: []string{"v0.1.0 is installed"}, wantHelm: oldVersion,
	},
	"an invalid version": {
		args: []string{"--version", "../../evil"}, wantCode: 1, wantOut: []string{"invalid version"},
	},
	"a version that is not there": {
		args: []string{"--version", "v9.9.9"}, wantCode: 1,
		wantOut: []string{"helm-v9.9.9-linux-amd64.tar.gz cannot be downloaded: nothing was installed"},
	},
	"an unknown option": {
		args: []string{"--verison", "v0.1.0"}, wantCode: 1, wantOut: []string{"unknown option --verison"},
	},
	"an option without its value": {
		args: []string{"--version"}, wantCode: 1, wantOut: []string{"--version needs a value"},
	},
	"help": {args: []string{"--help"}, wantOut: []string{"Usage: get-moonhelm"}},
	"a tampered archive": {
		spoil:    func(site map[string][]byte) { site[archive] = fakeArchive("linux-amd64", "v0.0.0-evil") },
		wantCode: 1, wantOut: []string{"the checksum of helm-v0.2.0-linux-amd64.tar.gz is wrong: nothing was installed"},
	},
	"a tampered archive with its checksum": {
		spoil: func(site map[string][]byte) {
			site[archive] = fakeArchive("linux-amd64", "v0.0.0-evil")
			site[archive+".sha256"] = []byte(sum(site[archive]) + "\n")
		},
		wantCode: 1, wantOut: []string{"the signature of helm-v0.2.0-linux-amd64.tar.gz is not valid: nothing was installed"},
	},
	"a tampered archive with its checksum and another's signature": {
		spoil: func(site map[string][]byte) {
			site[archive] = fakeArchive("linux-amd64", "v0.0.0-evil")
			site[archive+".sha256"] = []byte(sum(site[archive]) + "\n")
			site[archive+".asc"] = sign(newKey("Somebody Else", nil), site[archive])
		},
		wantCode: 1, wantOut: []string{"is not valid: nothing was installed"},
	},
	"a wrong checksum": {
		spoil:    func(site map[string][]byte) { site[archive+".sha256"] = []byte(strings.Repeat("0", 64) + "\n") },
		wantCode: 1, wantOut: []string{"is wrong: nothing was installed", "want 0000"},
	},
	"an empty checksum": {
		spoil:    func(site map[string][]byte) { site[archive+".sha256"] = nil },
		wantCode: 1, wantOut: []string{"is wrong: nothing was installed"},
	},
	"a missing checksum": {
		spoil:    func(site map[string][]byte) { delete(site, archive+".sha256") },
		wantCode: 1, wantOut: []string{"the checksum of helm-v0.2.0-linux-amd64.tar.gz cannot be downloaded"},
	},
	"a missing signature": {
		spoil:    func(site map[string][]byte) { delete(site, archive+".asc") },
		wantCode: 1, wantOut: []string{"the signature of helm-v0.2.0-linux-amd64.tar.gz cannot be downloaded"},
	},
	"a missing signature that is not asked for": {
		spoil:   func(site map[string][]byte) { delete(site, archive+".asc") },
		args:    []string{"--no-verify-signature"},
		wantOut: []string{"not verified, as you asked"}, wantHelm: installed,
	},
	"an invalid signature": {
		spoil:    func(site map[string][]byte) { site[archive+".asc"] = []byte("hello\n") },
		wantCode: 1, wantOut: []string{"is not valid: nothing was installed"},
	},
	"a signature of an expired key": {
		spoil: func(site map[string][]byte) {
			key := newKey("Moonhelm Test", &packet.Config{KeyLifetimeSecs: 1})
			site["/KEYS"] = publicKey(key)
			site[archive+".asc"] = sign(key, site[archive])
		},
		wantCode: 1, wantOut: []string{"is not valid: nothing was installed"},
	},
	"keys that are not there": {
		spoil:    func(site map[string][]byte) { delete(site, "/KEYS") },
		wantCode: 1, wantOut: []string{"the release keys cannot be downloaded"},
	},
	"no gpg": {
		without: []string{"gpg"}, wantOut: []string{"gpg is not installed"}, wantHelm: installed,
	},
	"no gpg where it is needed": {
		args: []string{"--verify-signature"}, without: []string{"gpg"}, wantCode: 1,
		wantOut: []string{"gpg is needed to verify the signature"},
	},
	"wget in curl's place": {
		without: []string{"curl"}, wantOut: []string{"v0.2.0 is installed"}, wantHelm: installed,
	},
	"neither curl nor wget": {
		without: []string{"curl", "wget"}, wantCode: 1, wantOut: []string{"curl or wget is needed"},
	},
	"nothing that makes checksums": {
		without: []string{"sha256sum", "shasum", "openssl"}, wantCode: 1,
		wantOut: []string{"sha256sum, shasum or openssl is needed"},
	},
	"no server": {
		spoil: func(site map[string][]byte) { clear(site) }, wantCode: 1,
		wantOut: []string{"cannot find out which version is the newest"},
	},
	"an archive without the binary": {
		spoil: func(site map[string][]byte) {
			site[archive] = fakeArchive("linux-s390x", "v0.0.0")
			site[archive+".sha256"] = []byte(sum(site[archive]) + "\n")
		},
		args: []string{"--no-verify-signature"}, wantCode: 1, wantOut: []string{"cannot be unpacked"},
	},
	"an upgrade": {
		there:   helmScript(oldVersion),
		wantOut: []string{"v0.2.0 is installed"}, wantHelm: installed,
	},
	"a version that is installed already": {
		there:   helmScript(installed),
		wantOut: []string{"Moonhelm v0.2.0 is installed already"}, wantHelm: installed,
	},
	"an upgrade under Helm's version": {
		env:     []string{"HELM_COMPAT=3"},
		there:   "#!/bin/sh\n[ -z \"$HELM_COMPAT\" ] && echo " + oldVersion + " || echo v3.22.0\n",
		wantOut: []string{"v0.2.0 is installed"}, wantHelm: installed,
	},
	"an invalid VERIFY_CHECKSUM": {
		env: []string{"VERIFY_CHECKSUM=1"}, wantCode: 1, wantOut: []string{"invalid VERIFY_CHECKSUM 1", "want true or false"},
	},
	"an invalid VERIFY_SIGNATURES": {
		env: []string{"VERIFY_SIGNATURES=yes"}, wantCode: 1, wantOut: []string{"invalid VERIFY_SIGNATURES yes"},
	},
	"Helm in its place": {
		there: helmScript("v3.22.0"), wantCode: 1,
		wantOut: []string{"is not Moonhelm (v3.22.0)", "--force replaces it"}, wantHelm: "v3.22.0",
	},
	"Helm in its place, replaced": {
		args: []string{"--force"}, there: helmScript("v3.22.0"),
		wantOut: []string{"v0.2.0 is installed"}, wantHelm: installed,
	},
	"a system without a release": {
		system: "SunOS", machine: "sun4v", wantCode: 1, wantOut: []string{"there is no release for SunOS"},
	},
	"a machine without a release": {
		system: "Linux", machine: "mips", wantCode: 1, wantOut: []string{"there is no release for Linux on mips"},
	},
	"a machine without a release of its system": {
		system: "Darwin", machine: "ppc64le", wantCode: 1, wantOut: []string{"there is no release for Darwin on ppc64le"},
	},
}

func TestInstaller(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a shell script")
	}
	for _, shell := range shells {
		t.Run(shell, func(t *testing.T) {
			needs(t, shell, "curl", "wget", "gpg", "tar", "gzip")
			for name, test := range installerCases {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					runInstaller(t, shell, test)
				})
			}
		})
	}
}

func TestInstallerKnowsEveryPlatform(t *testing.T) {
	needs(t, "sh", "curl", "gpg", "tar", "gzip")
	for _, platform := range platforms {
		t.Run(platform.name, func(t *testing.T) {
			t.Parallel()
			runInstaller(t, "sh", installerCase{
				system: platform.system, machine: platform.machine,
				wantOut:  []string{"helm-v0.2.0-" + platform.name + ".tar.gz", "v0.2.0 is installed"},
				wantHelm: installed,
			})
		})
	}
}

func TestInstallerLeavesNothingBehind(t *testing.T) {
	needs(t, "sh", "curl", "gpg", "tar", "gzip")
	for _, args := range [][]string{{}, {"--version", "v9.9.9"}} {
		tmp := t.TempDir()
		runInstaller(t, "sh", installerCase{
			args: args, env: []string{"TMPDIR=" + tmp}, wantCode: min(len(args), 1), wantHelm: map[int]string{0: installed}[len(args)],
		})
		if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
			t.Errorf("%v: left in TMPDIR: %v, %v", args, left, err)
		}
	}
}

// A script that is truncated during the download must do nothing.
func TestInstallerCutOffDoesNothing(t *testing.T) {
	needs(t, "sh")
	script, err := os.ReadFile("../../get-moonhelm")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, part := range []int{3, 2} {
		cmd := exec.Command("sh", "-s", "--", "--dir", dir)
		cmd.Stdin = bytes.NewReader(script[:len(script)*(part-1)/part])
		cmd.Env = []string{"PATH=/nonexistent"}
		_ = cmd.Run() // a syntax error, or no effect
	}
	if made, err := os.ReadDir(dir); err != nil || len(made) != 0 {
		t.Errorf("made: %v, %v", made, err)
	}
}

func runInstaller(t *testing.T, shell string, test installerCase) {
	t.Helper()
	site := newSite()
	if test.spoil != nil {
		test.spoil(site)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := site[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	}))
	defer server.Close()

	dir := filepath.Join(t.TempDir(), "bin")
	helm := filepath.Join(dir, "helm")
	if test.there != "" {
		writeFile(t, helm, test.there, 0o755)
	}
	script, err := filepath.Abs("../../get-moonhelm")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(shell, append([]string{script, "--dir", dir}, test.args...)...)
	cmd.Env = append([]string{
		"HOME=" + t.TempDir(), "LC_ALL=C", "TMPDIR=" + t.TempDir(),
		"PATH=" + programs(t, test),
		"MOONHELM_RELEASES=" + server.URL, "MOONHELM_KEYS=" + server.URL + "/KEYS",
	}, test.env...)
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != test.wantCode {
		t.Errorf("exit code: got %d (%v), want %d", got, err, test.wantCode)
	}
	for _, want := range test.wantOut {
		if !strings.Contains(string(out), want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
	got := ""
	if _, err := os.Stat(helm); err == nil {
		output, err := exec.Command(helm, "version").Output()
		if err != nil {
			t.Errorf("the installed helm: %v", err)
		}
		got = string(output)
	}
	if got != test.wantHelm {
		t.Errorf("installed: got %q, want %q\n%s", got, test.wantHelm, out)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 1 {
		t.Errorf("--dir has more than helm: %v", entries)
	}
}

// programs creates a directory with the programs that the installer may use and a fake uname.
func programs(t *testing.T, test installerCase) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{
		"curl", "wget", "gpg", "gpgconf", "gpg-agent", "sha256sum", "shasum", "openssl", "tar", "gzip", "mktemp", "rm",
		"mkdir", "cp", "mv", "chmod", "cat", "cut", "tr", "head", "sed", "grep", "id", "dirname", "sh", "sudo",
	} {
		if path, err := exec.LookPath(name); err == nil && !slices.Contains(test.without, name) {
			if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	system, machine := test.system, test.machine
	if system == "" {
		system, machine = "Linux", "x86_64"
	}
	writeFile(t, filepath.Join(dir, "uname"), fmt.Sprintf(
		"#!/bin/sh\ncase $1 in -m) echo %s;; *) echo %s;; esac\n", machine, system), 0o755)
	return dir
}

// newSite returns a server's files of two releases.
func newSite() map[string][]byte {
	site := map[string][]byte{
		"/latest/download/helm-latest-version": []byte("v0.2.0\n"),
		"/KEYS":                                publicKey(releaseKey()),
	}
	for _, version := range []string{"0.1.0", "0.2.0"} {
		for _, platform := range platforms {
			name := fmt.Sprintf("/download/v%s/helm-v%s-%s.tar.gz", version, version, platform.name)
			data := fakeArchive(platform.name, "v4.3.1+moonhelm."+version)
			site[name] = data
			site[name+".sha256"] = []byte(sum(data) + "\n")
			site[name+".asc"] = sign(releaseKey(), data)
		}
	}
	return site
}

// helmScript is used instead of the binary: it prints its version.
func helmScript(version string) string { return "#!/bin/sh\nprintf %s '" + version + "'\n" }

func fakeArchive(platform, version string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, file := range []struct {
		name, text string
		mode       int64
	}{
		{platform + "/LICENSE", "a license\n", 0o644},
		{platform + "/README.md", "a readme\n", 0o644},
		{platform + "/helm", helmScript(version), 0o755},
	} {
		must(w.WriteHeader(&tar.Header{Name: file.name, Mode: file.mode, Size: int64(len(file.text))}))
		_, err := w.Write([]byte(file.text))
		must(err)
	}
	must(w.Close())
	must(z.Close())
	return b.Bytes()
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

var releaseKey = sync.OnceValue(func() *openpgp.Entity { return newKey("Moonhelm Test", nil) })

// newKey creates a key with a creation time one hour ago.
func newKey(name string, config *packet.Config) *openpgp.Entity {
	if config == nil {
		config = &packet.Config{}
	}
	config.Algorithm = packet.PubKeyAlgoEdDSA
	config.Time = longAgo
	key, err := openpgp.NewEntity(name, "", "release@example.com", config)
	must(err)
	return key
}

func publicKey(key *openpgp.Entity) []byte {
	var b bytes.Buffer
	w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	must(err)
	must(key.Serialize(w))
	must(w.Close())
	return b.Bytes()
}

func sign(key *openpgp.Entity, data []byte) []byte {
	var b bytes.Buffer
	must(openpgp.ArmoredDetachSign(&b, key, bytes.NewReader(data), &packet.Config{Time: longAgo}))
	return b.Bytes()
}
