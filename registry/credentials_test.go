// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// auths writes a file with passwords "from NAME" for keys.
func auths(keys ...string) string {
	m := map[string]any{}
	for _, k := range keys {
		m[k] = map[string]string{"auth": encoded("ann", "for "+k)}
	}
	text, _ := json.Marshal(map[string]any{"auths": m})
	return string(text)
}

func TestCredentialsLongestPath(t *testing.T) {
	for _, test := range []struct {
		name         string
		ours, docker string
		ref, want    string
	}{
		{"nothing", "", "", "h/a/b/web", ""},
		{"the host", auths("h"), "", "h/a/b/web", "for h"},
		{"a path", auths("h", "h/a", "h/a/b", "h/a/c"), "", "h/a/b/web", "for h/a/b"},
		{"the chart itself", auths("h/a/b", "h/a/b/web"), "", "h/a/b/web", "for h/a/b/web"},
		{"no part of a name", auths("h/a/b/we"), "", "h/a/b/web", ""},
		{"not a deeper path", auths("h/a/b/web/x"), "", "h/a/b/web", ""},
		{"another port", auths("h:5000"), "", "h/web", ""},
		{"Docker's", "", auths("h"), "h/web", "for h"},
		{"ours before Docker's", auths("h"), strings.ReplaceAll(auths("h"), "aut", "aut"), "h/web", "for h"},
		{"Docker's longer path before ours", auths("h"), auths("h/a"), "h/a/web", "for h/a"},
		{"a URL of old", auths("https://h/v2/"), "", "h/web", "for https://h/v2/"},
		{"a URL of old, plain", auths("http://h"), "", "h/web", "for http://h"},
		{"Docker Hub", "", auths("https://index.docker.io/v1/"), "docker.io/ann/web", "for https://index.docker.io/v1/"},
		{"Docker Hub by its own name", "", auths("https://index.docker.io/v1/"), "registry-1.docker.io/ann/web", "for https://index.docker.io/v1/"},
		{"an empty file", " \n", "", "h/web", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &Credentials{File: write(t, test.ours), Docker: write(t, test.docker)}
			ref, err := ParseRef(test.ref)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.find(context.Background(), ref)
			if err != nil || got.password != test.want {
				t.Errorf("%s: %+v, %v", test.name, got, err)
			}
		})
	}
}

func TestCredentialsFormats(t *testing.T) {
	for entry, want := range map[string]secret{
		`{"username":"ann","password":"x"}`:                                    {user: "ann", password: "x"},
		`{"auth":"` + encoded("ann", "a:b") + `"}`:                             {user: "ann", password: "a:b"},
		`{"auth":"` + encoded("ann", "x\x00\x00") + `"}`:                       {user: "ann", password: "x"},
		`{"identitytoken":"i"}`:                                                {identity: "i"},
		`{"registrytoken":"r"}`:                                                {token: "r"},
		`{"auth":"` + encoded("0000", "") + `","identitytoken":"i","x":[1,2]}`: {user: "0000", identity: "i"},
		`{}`: {},
	} {
		t.Run(entry, func(t *testing.T) {
			c := &Credentials{File: write(t, `{"auths":{"h":`+entry+`}}`)}
			if got, err := c.find(context.Background(), Ref{Host: "h", Path: "web"}); err != nil || got != want {
				t.Errorf("%s: %+v, %v", entry, got, err)
			}
		})
	}
}

// A file that cannot be read means no credentials. The error is reported only if these are
// required.
func TestCredentialsUnreadable(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "secret: hunter2", "another JSON": `{"auths":["hunter2"]}`,
		"no base64": `{"auths":{"HOST":{"auth":"hunter2!"}}}`, "no colon": `{"auths":{"HOST":{"auth":"aHVudGVyMg=="}}}`,
		"too large":                  strings.Repeat(" ", maxConfigFile+1),
		"a helper that is not there": `{"credsStore":"surely-not-there"}`,
		"a helper elsewhere":         `{"credsStore":"../../bin/x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.chart("web", "1.0.0", "the archive")
			c := f.client()
			c.Credentials = &Credentials{File: write(t, strings.ReplaceAll(text, "HOST", f.host()))}
			if got, err := f.pullAs(c, "web:1.0.0"); err != nil || got != "the archive" {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			f.handle = wantBasic("ann", "secret")
			_, err := f.pullAs(c, "web:1.0.0")
			var unauthorized *UnauthorizedError
			if !errors.As(err, &unauthorized) || unauthorized.Err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestCredentialsSaveLikeHelm(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no helper programs
	file := filepath.Join(t.TempDir(), "registry", "config.json")
	c := &Credentials{File: file}
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.save(ctx, "h:5000", secret{user: "alice", password: "secret"}))
	// The file that Helm 4.3.1 writes for the same login.
	same(t, file, "{\n\t\"auths\": {\n\t\t\"h:5000\": {\n\t\t\t\"auth\": \"YWxpY2U6c2VjcmV0\"\n\t\t}\n\t}\n}")
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	must(os.WriteFile(file, []byte(`{"HttpHeaders":{"X":"<&>"},"auths":{"https://h:5000/v2/":{"auth":"old","email":"e"},"o":{"email":"x","auth":"YTpi"}}}`), 0o600))
	must(c.save(ctx, "h:5000", secret{identity: "token"}))
	same(t, file, "{\n\t\"HttpHeaders\": {\n\t\t\"X\": \"\\u003c\\u0026\\u003e\"\n\t},\n\t\"auths\": {\n\t\t\"h:5000\": {\n\t\t\t\"identitytoken\": \"token\"\n\t\t},\n\t\t\"o\": {\n\t\t\t\"email\": \"x\",\n\t\t\t\"auth\": \"YTpi\"\n\t\t}\n\t}\n}")
	must(c.save(ctx, "h:5000/a", secret{user: "alice", password: "secret"}))
	had, err := c.remove(ctx, "h:5000")
	if err != nil || !had {
		t.Errorf("%v, %v", had, err)
	}
	if got, err := c.find(ctx, Ref{Host: "h:5000", Path: "a/web"}); err != nil || got.password != "secret" {
		t.Errorf("%+v, %v", got, err)
	}
	must(os.WriteFile(file, []byte(`not JSON, hunter2`), 0o600))
	if err := c.save(ctx, "h", secret{user: "a", password: "b"}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
	same(t, file, "not JSON, hunter2")
}

func same(t *testing.T, file, want string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil || string(data) != want {
		t.Errorf("%s, %v\nwanted\n%s", data, err, want)
	}
}

func TestCredentialsSaveKeepsSymlink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a right of its own there")
	}
	t.Setenv("PATH", t.TempDir())
	resolved := write(t, "{}")
	link := filepath.Join(t.TempDir(), "config.json")
	if err := os.Symlink(resolved, link); err != nil {
		t.Fatal(err)
	}
	c := &Credentials{File: link}
	if err := c.save(context.Background(), "h", secret{user: "a", password: "b"}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if data, err := os.ReadFile(resolved); err != nil || !bytes.Contains(data, []byte(`"h"`)) {
		t.Errorf("%s, %v", data, err)
	}
}

// helperProgram adds a helper to PATH that stores credentials in a directory.
func helperProgram(t *testing.T, name string) (dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the helper of this test is a shell script")
	}
	dir = t.TempDir()
	script := `#!/bin/sh
read -r line
echo "$1 $line" >>` + dir + `/log
key=$(printf %s "$line" | tr -c 'a-z0-9\n' _)
case $1 in
store) printf %s "$line" >` + dir + `/last; printf '{"ServerURL":"x","Username":"%s","Secret":"kept"}' "${USERNAME_OF_HELPER:-ann}" >` + dir + `/entry ;;
get) if test -e ` + dir + `/entry; then cat ` + dir + `/entry; else echo credentials not found in native keychain; exit 1; fi ;;
erase) rm -f ` + dir + `/entry ;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "docker-credential-"+name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return dir
}

func TestHelperPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for name, config := range map[string]string{
		"for everything":   `{"credsStore":"mine"}`,
		"for one registry": `{"credHelpers":{"h":"mine","other":"not-there"}}`,
		"one for another":  `{"credsStore":"mine","credHelpers":{"other":"not-there"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := helperProgram(t, "mine")
			file := write(t, config)
			c := &Credentials{File: file}
			ctx := context.Background()
			if got, err := c.find(ctx, Ref{Host: "h", Path: "a/b/web"}); err != nil || got != (secret{}) {
				t.Errorf("before: %+v, %v", got, err)
			}
			if err := c.save(ctx, "h", secret{user: "ann", password: "secret"}); err != nil {
				t.Fatal(err)
			}
			same(t, dir+"/last", `{"ServerURL":"h","Username":"ann","Secret":"secret"}`)
			same(t, file, config)
			if got, err := c.find(ctx, Ref{Host: "h", Path: "a/b/web"}); err != nil || got != (secret{user: "ann", password: "kept"}) {
				t.Errorf("after: %+v, %v", got, err)
			}
			if had, err := c.remove(ctx, "h"); err != nil || !had {
				t.Errorf("%v, %v", had, err)
			}
			if had, err := c.remove(ctx, "h"); err != nil || had {
				t.Errorf("%v, %v", had, err)
			}
			log, err := os.ReadFile(dir + "/log")
			if err != nil || strings.Contains(string(log), "h/a") {
				t.Errorf("the helper was asked about paths that no one stored:\n%s", log)
			}
		})
	}
}

func TestHelperPathsAndTokens(t *testing.T) {
	dir := helperProgram(t, "mine")
	t.Setenv("USERNAME_OF_HELPER", identityUser)
	file := write(t, `{"credsStore":"mine"}`)
	c := &Credentials{File: file}
	ctx := context.Background()
	if err := c.save(ctx, "h/a", secret{identity: "i"}); err != nil {
		t.Fatal(err)
	}
	same(t, dir+"/last", `{"ServerURL":"h/a","Username":"\u003ctoken\u003e","Secret":"i"}`)
	if got, err := c.find(ctx, Ref{Host: "h", Path: "a/web"}); err != nil || got != (secret{identity: "kept"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if had, err := c.remove(ctx, "h/a"); err != nil || !had {
		t.Errorf("%v, %v", had, err)
	}
}

// As in Helm, the first login uses the system's keychain if its helper is installed.
func TestLoginUsesSystemHelper(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs the system's own program")
	}
	dir := helperProgram(t, "secretservice")
	t.Setenv("PATH", dir+":/nowhere")
	if err := os.Symlink("/bin/sh", dir+"/sh"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config.json")
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	if h := systemHelper(); h != "secretservice" {
		t.Skipf("this machine has %q", h)
	}
	c := &Credentials{File: file}
	if err := c.save(context.Background(), "h", secret{user: "ann", password: "secret"}); err != nil {
		t.Fatal(err)
	}
	same(t, file, "{\n\t\"auths\": {},\n\t\"credsStore\": \"secretservice\"\n}")
}

func TestHelperError(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the helper of this test is a shell script")
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/docker-credential-broken", []byte("#!/bin/sh\necho hunter2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	c := &Credentials{File: write(t, `{"credsStore":"broken"}`)}
	_, err := c.find(context.Background(), Ref{Host: "h", Path: "web"})
	if err == nil || !strings.Contains(err.Error(), "docker-credential-broken for h: exit status 3") || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

func TestHelperTimeout(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the helper of this test is a shell script")
	}
	dir := t.TempDir()
	child := filepath.Join(dir, "child")
	if err := os.WriteFile(dir+"/docker-credential-silent", []byte("#!/bin/sh\necho asked >>"+dir+"/log\nsleep 1000 & echo $! >"+child+"\nwait\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	c := &Credentials{File: write(t, `{"credsStore":"silent"}`), timeout: 500 * time.Millisecond}
	for range 2 {
		_, err := c.find(t.Context(), Ref{Host: "h", Path: "web"})
		if !errors.Is(err, errHelperTimeout) || !strings.Contains(err.Error(), "docker-credential-silent for h: it did not respond") {
			t.Errorf("got %v", err)
		}
	}
	same(t, dir+"/log", "asked\n")
	if err := c.save(t.Context(), "h", secret{user: "ann"}); !errors.Is(err, errHelperTimeout) {
		t.Errorf("save: got %v", err)
	}
	if _, err := c.remove(t.Context(), "h"); !errors.Is(err, errHelperTimeout) {
		t.Errorf("remove: got %v", err)
	}
	text, err := os.ReadFile(child)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for { // subprocesses of the helper end with it
		p, err := os.FindProcess(pid)
		if err != nil || p.Signal(syscall.Signal(0)) != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
}

func TestHelperCanceled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the helper of this test is a shell script")
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/docker-credential-silent", []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	c := &Credentials{File: write(t, `{"credsStore":"silent"}`)}
	if _, err := c.find(ctx, Ref{Host: "h"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func FuzzConfigFile(f *testing.F) {
	f.Add([]byte(auths("h", "https://index.docker.io/v1/")))
	f.Add([]byte(`{"auths":null,"credHelpers":{"h":""}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c configFile
		if json.Unmarshal(data, &c) != nil || c.CredsStore != "" || len(c.CredHelpers) > 0 {
			return
		}
		for _, key := range keys(Ref{Host: "h", Path: "a/b"}) {
			if _, err := c.find(context.Background(), key, key == "h"); err != nil && !strings.Contains(err.Error(), fmt.Sprintf("the stored credentials for %s", key)) {
				t.Fatal(err)
			}
		}
		d := document{}
		if json.Unmarshal(data, &d) == nil && d.put("h", storedAuth{Auth: "x"}) == nil {
			if text, err := json.Marshal(d); err != nil || !json.Valid(text) {
				t.Fatalf("%s, %v", text, err)
			}
		}
	})
}
