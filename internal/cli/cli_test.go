// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/internal/kubetest"
	"github.com/moonhelm/moonhelm/internal/term"
)

var update = flag.Bool("update", false, "accept what the commands print now")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"helm":  func() { os.Exit(Main(os.Args[1:], term.Standard())) },
		"helm3": func() { os.Exit(Main(os.Args[1:], term.Standard())) },
		"kube":  askServer,
		"forge": forgeRecord,
	})
}

// TestScripts runs commands without a cluster.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Cmds:                scriptCommands,
		Setup:               setup,
	})
}

// TestClusterScripts runs commands with a real API server. Each script has its own namespace, $NS.
func TestClusterScripts(t *testing.T) {
	admin := os.Getenv("MOONHELM_TEST_KUBECONFIG")
	if admin == "" {
		t.Skip("no cluster: make cluster-tests brings one up (MOONHELM_TEST_KUBECONFIG)")
	}
	var count atomic.Int64
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "cluster"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Cmds:                scriptCommands,
		Setup: func(env *testscript.Env) error {
			env.Setenv("KUBECONFIG", admin)
			env.Setenv("RESTRICTED", os.Getenv("MOONHELM_TEST_RESTRICTED_KUBECONFIG"))
			ns := fmt.Sprintf("cli-%d-%d", os.Getpid(), count.Add(1))
			env.Setenv("NS", ns)
			env.Setenv("HELM_NAMESPACE", ns)
			return setup(env)
		},
	})
}

// TestMemoryScripts runs commands with an API server in memory, one for each script.
func TestMemoryScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "memory"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Cmds:                scriptCommands,
		Setup: func(env *testscript.Env) error {
			server := kubetest.Start()
			env.Defer(server.Close)
			path := filepath.Join(env.WorkDir, "kubeconfig")
			text := `{"apiVersion":"v1","kind":"Config","current-context":"x","contexts":[{"name":"x","context":{"cluster":"x","user":"x"}}],` +
				`"clusters":[{"name":"x","cluster":{"server":"` + server.Config().Host + `"}}],"users":[{"name":"x","user":{"token":"x"}}]}`
			env.Setenv("KUBECONFIG", path)
			return errors.Join(setup(env), os.WriteFile(path, []byte(text), 0o600))
		},
	})
}

// setup creates a home directory for a script, and copies the example charts.
func setup(env *testscript.Env) error {
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("TZ", "UTC")
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
	if err != nil {
		return err
	}
	env.Setenv("EXAMPLES", examples)
	env.Setenv("SITE", site())
	serveWWW(env)
	if strings.TrimSpace(env.Getenv("KUBECONFIG")) == "" {
		env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "no-kubeconfig"))
	}
	return os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o755)
}

// askServer implements the script command kube METHOD PATH [BODY], which sends a request to the API
// server of $KUBECONFIG and prints the response. A PATCH is a JSON merge patch. kube AWAIT PATH
// TEXT repeats a GET until the response contains TEXT.
func askServer() {
	if err := ask(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: kube METHOD PATH [BODY]")
	}
	server, err := apiserver.Open(os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	if args[0] == "AWAIT" && len(args) == 3 {
		return await(server, args[1], args[2])
	}
	text, status, err := server.Call(context.Background(), args[0], args[1], "", strings.Join(args[2:], " "))
	if err != nil {
		return err
	}
	if _, err := os.Stdout.Write(text); err != nil {
		return err
	}
	if status >= 300 {
		return fmt.Errorf("%s %s: %d %s", args[0], args[1], status, http.StatusText(status))
	}
	return nil
}

func await(server *apiserver.Client, path, text string) error {
	for range 600 {
		body, _, err := server.Call(context.Background(), http.MethodGet, path, "", "")
		if err == nil && strings.Contains(string(body), text) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s never had %s", path, text)
}
