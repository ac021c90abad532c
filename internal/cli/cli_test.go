// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

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

// TestScripts runs whole commands without a cluster.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Cmds:                scriptCommands,
		Setup:               setup,
	})
}

// TestClusterScripts runs whole commands against a real API server. Each script
// has a namespace of its own, $NS.
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

// setup gives a script a home of its own and the example charts.
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

// askServer is a command of scripts: kube METHOD PATH [BODY] asks the API server of
// $KUBECONFIG and prints what it answers. A PATCH is a JSON merge patch. kube AWAIT
// PATH TEXT asks until the answer has the text.
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
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	if args[0] == "AWAIT" && len(args) == 3 {
		return await(client, config.Host+args[1], args[2])
	}
	req, err := http.NewRequest(args[0], config.Host+args[1], strings.NewReader(strings.Join(args[2:], " ")))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if args[0] == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(os.Stdout, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s", args[0], args[1], resp.Status)
	}
	return nil
}

func await(client *http.Client, url, text string) error {
	for range 600 {
		if resp, err := client.Get(url); err == nil {
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if strings.Contains(string(body), text) {
				return nil
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s never had %s", url, text)
}
