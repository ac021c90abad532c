// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/internal/peertest"
)

// TestPhrases runs the scripts of testdata/phrases with Helm's binaries and with ours. The
// scripts produce the messages of Helm that people search for in their logs and on the web.
// [helm3] and [helm4] have messages of one version; ours prints those of both, unless [ours]
// has another one.
func TestPhrases(t *testing.T) {
	admin := os.Getenv("MOONHELM_TEST_KUBECONFIG")
	for name, find := range map[string]func(t *testing.T) string{
		"ours":  ours,
		"helm4": func(t *testing.T) string { return peer(t, helm4) },
		"helm3": func(t *testing.T) string { return peer(t, helm3) },
	} {
		t.Run(name, func(t *testing.T) {
			bin := find(t)
			run := func(dir string, test func(t *testing.T)) {
				if name == "ours" {
					t.Run(dir, test)
					return
				}
				peertest.Once(t, dir, bin, []string{"phrases_test.go", "../cluster/go.mod", filepath.Join("testdata", "phrases", dir)}, test)
			}
			run("local", func(t *testing.T) { phrases(t, name, bin, "local", "") })
			run("cluster", func(t *testing.T) {
				if admin == "" {
					t.Skip("no cluster: make compat brings one up (MOONHELM_TEST_KUBECONFIG)")
				}
				phrases(t, name, bin, "cluster", admin)
			})
		})
	}
}

func phrases(t *testing.T, name, bin, dir, admin string) {
	path := t.TempDir()
	if err := os.Symlink(bin, filepath.Join(path, "helm")); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "phrases", dir),
		RequireExplicitExec: true,
		ContinueOnError:     true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", path+string(os.PathListSeparator)+os.Getenv("PATH"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("TZ", "UTC")
			env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "no-kubeconfig"))
			serveFiles(env)
			if admin == "" {
				return nil
			}
			ns := connect(t).namespace(t)
			env.Setenv("KUBECONFIG", admin)
			env.Setenv("RESTRICTED", os.Getenv(apiserver.RestrictedKubeconfig))
			env.Setenv("NS", ns.name)
			env.Setenv("HELM_NAMESPACE", ns.name)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "ours", "helm3", "helm4":
				return cond == name, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"says":   says("stderr"),
			"prints": says("stdout"),
		},
	})
}

// says is a command of scripts: the output of the last command must contain a text.
func says(stream string) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) != 1 {
			ts.Fatalf("usage: says TEXT")
		}
		got := ts.ReadFile(stream)
		if strings.Contains(got, args[0]) == neg {
			ts.Fatalf("%s: holds %q is %v:\n%s", stream, args[0], neg, got)
		}
	}
}

// serveFiles serves a script's directory www at $WWW. /private/ requires credentials that no
// client has.
func serveFiles(env *testscript.Env) {
	files := http.FileServer(http.Dir(filepath.Join(env.WorkDir, "www")))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/private/") {
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		files.ServeHTTP(w, r)
	}))
	env.Defer(s.Close)
	env.Setenv("WWW", s.URL)
	env.Setenv("WWW_HOST", strings.TrimPrefix(s.URL, "http://"))
}
