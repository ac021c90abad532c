// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/moonhelm/moonhelm/internal/peertest"
)

var update = flag.Bool("update", false, "accept what the commands print now")

// TestScripts runs scripts with our binary (helm), Helm's (helm4, helm3) and registries: $PLAIN
// requires no credentials, $BASIC those of alice with the password secret, $TOKEN the same
// through a token server, and $TLS the same over HTTPS with a certificate of the authority $CA.
// Each script has new registries and a new home directory.
func TestScripts(t *testing.T) {
	bin := binaries(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata", UpdateScripts: *update, RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error { return setup(env, bin) },
		Cmds:  map[string]func(*testscript.TestScript, bool, []string){"manifest": manifest, "put": put},
	})
}

func setup(env *testscript.Env, bin string) error {
	for name, o := range map[string]Options{
		"PLAIN": {},
		"BASIC": {User: "alice", Password: "secret"},
		"TOKEN": {User: "alice", Password: "secret", Token: true},
		"TLS":   {User: "alice", Password: "secret", TLS: true},
	} {
		dir := filepath.Join(env.WorkDir, ".registries", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		s, err := Start(dir, o)
		if err != nil {
			return err
		}
		env.Defer(s.Close)
		env.Setenv(name, s.Host)
		if s.CA != "" {
			env.Setenv("CA", s.CA)
		}
	}
	home := filepath.Join(env.WorkDir, "home")
	env.Setenv("HOME", home)
	env.Setenv("TZ", "UTC")
	env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "no-kubeconfig"))
	env.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return os.MkdirAll(home, 0o755)
}

// manifest is a command of scripts: manifest HOST NAME TAG prints a manifest from a registry
// without credentials.
func manifest(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: manifest HOST NAME TAG")
	}
	req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://%s/v2/%s/manifests/%s", args[0], args[1], args[2]), nil)
	ts.Check(err)
	req.Header.Set("Accept", "application/vnd.oci.image.manifest.v1+json")
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	ts.Check(err)
	if resp.StatusCode != http.StatusOK {
		ts.Fatalf("%s: %s", resp.Status, data)
	}
	_, err = ts.Stdout().Write(data)
	ts.Check(err)
}

// put is a command of scripts: put HOST NAME TAG FILE stores a manifest, whose blobs must
// exist, in a registry without credentials.
func put(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: put HOST NAME TAG FILE")
	}
	text := ts.ReadFile(args[3])
	req, err := http.NewRequest(http.MethodPut, fmt.Sprintf("http://%s/v2/%s/manifests/%s", args[0], args[1], args[2]), strings.NewReader(text))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
	if strings.Contains(text, "manifests") {
		req.Header.Set("Content-Type", "application/vnd.oci.image.index.v1+json")
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	if data, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusCreated {
		ts.Fatalf("%s: %s", resp.Status, data)
	}
}

// binaries returns a directory with helm, which is our binary, helm4 and helm3.
func binaries(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{"helm": peertest.Moonhelm(t, "../..")}
	for name, module := range map[string]string{"helm4": peertest.Helm4, "helm3": peertest.Helm3} {
		bin, err := peertest.Helm(module)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = bin
	}
	for name, path := range all {
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
