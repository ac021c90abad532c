// SPDX-License-Identifier: Apache-2.0

package callers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/itchyny/gojq"
	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/test/callers/programs"
)

var count atomic.Int64 // of namespaces

// commands are the commands of scripts in addition to testscript's.
var commands = map[string]func(*testscript.TestScript, bool, []string){
	"kube":   kube,
	"jq":     jq,
	"plugin": plugin,
}

// kube sends a request to the API server of $KUBECONFIG and prints the response: kube METHOD
// PATH [BODY]. A PATCH is a JSON merge patch. "! kube" requires an error.
func kube(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: kube METHOD PATH [BODY]")
	}
	answer, status, err := request(ts.Getenv("KUBECONFIG"), args[0], args[1], strings.Join(args[2:], " "))
	ts.Check(err)
	if refused := status >= 300; refused != neg {
		ts.Fatalf("%s %s: %d\n%s", args[0], args[1], status, answer)
	}
	_, err = ts.Stdout().Write(answer)
	ts.Check(err)
}

func request(kubeconfig, method, path, body string) ([]byte, int, error) {
	server, err := apiserver.Open(kubeconfig)
	if err != nil {
		return nil, 0, err
	}
	return server.Call(context.Background(), method, path, "", body)
}

// newNamespace creates a namespace and a kubeconfig for it in dir.
func newNamespace(admin, name, dir string) (kubeconfig, context string, err error) {
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name)
	if answer, status, err := request(admin, http.MethodPost, "/api/v1/namespaces", body); err != nil || status >= 300 {
		return "", "", fmt.Errorf("create namespace %s: %d %s %w", name, status, answer, err)
	}
	config, err := clientcmd.LoadFromFile(admin)
	if err != nil {
		return "", "", err
	}
	config.Contexts[config.CurrentContext].Namespace = name
	kubeconfig = filepath.Join(dir, "kubeconfig")
	return kubeconfig, config.CurrentContext, clientcmd.WriteToFile(*config, kubeconfig)
}

// jq requires a jq expression to be true for a file of JSON or YAML, or for the last output: jq
// EXPRESSION [FILE].
func jq(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: jq EXPRESSION [FILE]")
	}
	file := "stdout"
	if len(args) == 2 {
		file = args[1]
	}
	query, err := gojq.Parse(args[0])
	ts.Check(err)
	text, err := yaml.YAMLToJSON([]byte(ts.ReadFile(file)))
	ts.Check(err)
	var value any
	ts.Check(json.Unmarshal(text, &value))
	answer, _ := query.Run(value).Next()
	if err, is := answer.(error); is {
		ts.Fatalf("jq %s: %v\n%s", args[0], err, text)
	}
	if answer == neg {
		ts.Fatalf("jq %s: %v\n%s", args[0], answer, text)
	}
}

// plugin installs a plugin without the hooks that download its program: plugin NAME PROGRAM, or
// plugin NAME DIRECTORY.
func plugin(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: plugin NAME PROGRAM|DIRECTORY")
	}
	from := ts.MkAbs(args[1])
	if _, err := os.Stat(from); err != nil {
		from, err = programs.Build(args[1])
		ts.Check(err)
	}
	to := filepath.Join(ts.Getenv("PLUGINS"), args[0])
	ts.Check(os.MkdirAll(filepath.Dir(to), 0o755))
	ts.Check(os.CopyFS(to, os.DirFS(from)))
}

// serve serves the directory www of the script as $WWW, and a registry for OCI artifacts as
// $REGISTRY. The registry and /private/ require the user "anna" and the password "secret".
func serve(env *testscript.Env) {
	files := http.FileServer(http.Dir(filepath.Join(env.WorkDir, "www")))
	www := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/private/") || authorized(w, r) {
			files.ServeHTTP(w, r)
		}
	}))
	artifacts := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	oci := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if authorized(w, r) {
			artifacts.ServeHTTP(w, r)
		}
	}))
	env.Defer(www.Close)
	env.Defer(oci.Close)
	env.Setenv("WWW", www.URL)
	env.Setenv("REGISTRY", strings.TrimPrefix(oci.URL, "http://"))
}

// authorized reports whether the request has anna's credentials, and responds with an error
// otherwise.
func authorized(w http.ResponseWriter, r *http.Request) bool {
	user, password, _ := r.BasicAuth()
	if user == "anna" && password == "secret" {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
	http.Error(w, "unauthorized", http.StatusUnauthorized)
	return false
}
