// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/term"
)

// use says how a command uses the kubeconfig.
type use int

const (
	offline   use = iota // never reads it
	namespace            // reads the namespace, unless one is given
	cluster              // needs a cluster
)

// commandUses lists all runnable commands, with arguments. These need not succeed, but pass
// validation.
var commandUses = map[string]struct {
	use  use
	args string
}{
	"apply":                 {cluster, "plan.json"},
	"adopt":                 {cluster, "rel deployment/web"},
	"disown":                {cluster, "rel deployment/web"},
	"mv":                    {cluster, "rel deployment/web other"},
	"rename":                {cluster, "rel other"},
	"completion bash":       {offline, ""},
	"completion fish":       {offline, ""},
	"completion powershell": {offline, ""},
	"completion zsh":        {offline, ""},
	"create":                {offline, "new"},
	"dependency build":      {offline, "chart"},
	"dependency list":       {offline, "chart"},
	"dependency update":     {offline, "chart"},
	"diff local":            {namespace, "chart chart"},
	"diff release":          {cluster, "a b"},
	"diff revision":         {cluster, "a 1"},
	"diff rollback":         {cluster, "a"},
	"diff upgrade":          {cluster, "a chart"},
	"diff uninstall":        {cluster, "a"},
	"diff version":          {offline, ""},
	"plan install":          {cluster, "a chart"},
	"plan rollback":         {cluster, "a"},
	"plan show":             {offline, "plan.json"},
	"plan uninstall":        {cluster, "a"},
	"plan upgrade":          {cluster, "a chart"},
	"docs":                  {offline, "--dir out"},
	"drift":                 {cluster, "a"},
	"env":                   {namespace, ""},
	"get all":               {cluster, "a"},
	"get hooks":             {cluster, "a"},
	"get manifest":          {cluster, "a"},
	"get metadata":          {cluster, "a"},
	"get notes":             {cluster, "a"},
	"get patches":           {cluster, "a"},
	"get values":            {cluster, "a"},
	"dag":                   {namespace, "chart"},
	"graph chart":           {offline, "chart"},
	"graph release":         {cluster, "a"},
	"crds":                  {cluster, ""},
	"help":                  {offline, "install"},
	"history":               {cluster, "a"},
	"install":               {cluster, "a chart"},
	"lint":                  {namespace, "chart"},
	"list":                  {cluster, ""},
	"lsp":                   {namespace, ""},
	"package":               {offline, "chart -d out"},
	"plugin install":        {offline, "plug"},
	"plugin list":           {offline, ""},
	"plugin package":        {offline, "plug --sign=false -d out"},
	"plugin uninstall":      {offline, "there"},
	"plugin update":         {offline, "there"},
	"plugin verify":         {offline, "out/plug-0.1.0.tgz"},
	"pull":                  {offline, "web --repo http://127.0.0.1:1"},
	"push":                  {offline, "out/chart-0.1.0.tgz oci://127.0.0.1:1/x --plain-http"},
	"registry login":        {offline, "127.0.0.1:1 -u me -p x --plain-http"},
	"registry logout":       {offline, "127.0.0.1:1"},
	"repo add":              {offline, "y http://127.0.0.1:1"},
	"repo index":            {offline, "out"},
	"repo list":             {offline, ""},
	"repo remove":           {offline, "x"},
	"repo update":           {offline, ""},
	"rollback":              {cluster, "a 1"},
	"readme":                {offline, "chart"},
	"schema":                {offline, "chart"},
	"script repl":           {namespace, "chart"},
	"script types":          {offline, "chart"},
	"search hub":            {offline, "x --endpoint http://127.0.0.1:1"},
	"search repo":           {offline, "x"},
	"show all":              {offline, "chart"},
	"show chart":            {offline, "chart"},
	"show crds":             {offline, "chart"},
	"show readme":           {offline, "chart"},
	"show values":           {offline, "chart"},
	"status":                {cluster, "a"},
	"rollout":               {cluster, "a"},
	"template":              {namespace, "a chart"},
	"test":                  {cluster, "a"},
	"uninstall":             {cluster, "a"},
	"unittest":              {offline, "chart"},
	"upgrade":               {cluster, "a chart"},
	"values":                {namespace, "chart"},
	"verify":                {offline, "out/chart-0.1.0.tgz"},
	"version":               {offline, ""},
}

// commandPaths returns the paths of the runnable commands of a tree.
func commandPaths(root *cobra.Command) (paths []string) {
	for _, c := range root.Commands() {
		if c.HasSubCommands() {
			paths = append(paths, commandPaths(c)...)
			continue
		}
		paths = append(paths, strings.TrimPrefix(c.CommandPath(), "helm "))
	}
	slices.Sort(paths)
	return paths
}

// newHome creates a home and working directory with a chart, its archive and a plugin, and returns
// its path.
func newHome(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HELM_NAMESPACE", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Chdir(home)
	filetest.Write(t, ".", map[string]string{
		"chart/Chart.yaml":                            "apiVersion: v2\nname: chart\nversion: 0.1.0\n",
		"chart/templates/config.yaml":                 "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: {{ .Release.Namespace }}\n",
		"plug/plugin.yaml":                            "name: plug\nversion: 0.1.0\ncommand: echo\n",
		"broken":                                      "{{{",
		".config/helm/repositories.yaml":              "repositories:\n- {name: x, url: \"http://127.0.0.1:1\"}\n",
		".local/share/helm/plugins/there/plugin.yaml": "name: there\nversion: 0.1.0\ncommand: echo\n",
		"directory/file":                              "",
		"plan.json": `{"apiVersion":"moonhelm.github.io/v1","kind":"Plan","created":"2026-01-01T00:00:00Z",` +
			`"operation":"uninstall","release":{"name":"a","namespace":"b","revision":1},"base":{"revision":1},"objects":[]}`,
	})
	runWith(t, "none", "package", "chart", "-d", "out")
	return home
}

// runWith runs helm with a kubeconfig in this process.
func runWith(t *testing.T, kubeconfig string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("KUBECONFIG", kubeconfig)
	var out, errs bytes.Buffer
	code = Run(context.Background(), args, cmdutil.New(term.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: os.Getenv}))
	return code, out.String(), errs.String()
}

// watchReads creates a named pipe that appears as an empty file to readers. The returned function
// reports whether it has been read since the last call.
func watchReads(t *testing.T) (path string, read func() bool) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, countReads(t, path)
}

func countReads(t *testing.T, path string) func() bool {
	var over, seen atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for { // blocks until it is opened for reading
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return
			}
			if !over.Load() {
				seen.Store(true)
			}
			f.Close()
			if over.Load() {
				return
			}
		}
	}()
	return func() bool {
		over.Store(true)
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		<-done
		f.Close()
		return seen.Load()
	}
}

// TestCommandUse compares commandUses with the tree: a new command must declare whether it may read
// the kubeconfig.
func TestCommandUse(t *testing.T) {
	have := commandPaths(New(cmdutil.New(term.Streams{})))
	for _, path := range have {
		if _, ok := commandUses[path]; !ok {
			t.Errorf("%q is not in commandUses", path)
		}
	}
	for path := range commandUses {
		if !slices.Contains(have, path) && path != "help" {
			t.Errorf("%q is in commandUses and not a command", path)
		}
	}
}

func TestOfflineCommandsIgnoreKubeconfig(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for path, c := range commandUses {
		t.Run(path, func(t *testing.T) {
			newHome(t)
			calls := [][]string{append(strings.Fields(path), "--help")}
			switch c.use {
			case offline:
				calls = append(calls, strings.Fields(path+" "+c.args))
			case namespace:
				calls = append(calls, strings.Fields(path+" "+c.args+" -n given"))
			}
			for _, args := range calls {
				pipe, read := watchReads(t)
				runWith(t, pipe, args...)
				if read() {
					t.Errorf("helm %s reads the kubeconfig", strings.Join(args, " "))
				}
			}
		})
	}
}

// duration is the line with the time that a command took.
var duration = regexp.MustCompile(`(?m)^Time: .*$`)

func TestOfflineCommandsBrokenKubeconfig(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for path, c := range commandUses {
		t.Run(path, func(t *testing.T) {
			for _, kubeconfig := range []string{"broken", "directory", "/dev/zero"} {
				args := strings.Fields(path + " " + c.args)
				first := newHome(t)
				wantCode, want, _ := runWith(t, "none", args...)
				second := newHome(t)
				code, got, errs := runWith(t, kubeconfig, args...)
				if c.use == cluster {
					if code != 1 || !strings.Contains(errs, "Kubernetes cluster unreachable: read kubeconfig") {
						t.Errorf("with %s: got %d %s", kubeconfig, code, errs)
					}
					continue
				}
				if code != wantCode || strings.Contains(errs, "kubeconfig") {
					t.Errorf("with %s: got %d %s, want %d", kubeconfig, code, errs, wantCode)
				}
				// unittest says how long it took.
				got, want = duration.ReplaceAllString(got, ""), duration.ReplaceAllString(want, "")
				if strings.ReplaceAll(got, second, first) != want {
					t.Errorf("with %s: got\n%s\nwant\n%s", kubeconfig, got, want)
				}
			}
		})
	}
}

// TestNamespaceBrokenKubeconfig compares with the output of Helm 4.3.1.
func TestNamespaceBrokenKubeconfig(t *testing.T) {
	for _, kubeconfig := range []string{"none", "broken", "directory", "/dev/zero"} {
		t.Run(kubeconfig, func(t *testing.T) {
			newHome(t)
			if code, out, errs := runWith(t, kubeconfig, "env", "HELM_NAMESPACE"); code != 0 || out != "default\n" {
				t.Errorf("env: got %d %q %s", code, out, errs)
			}
			if code, out, errs := runWith(t, kubeconfig, "template", "a", "chart"); code != 0 || !strings.Contains(out, "namespace: default\n") {
				t.Errorf("template: got %d %q %s", code, out, errs)
			}
		})
	}
}

// TestTemplateServerDryRun expects the error of the kubeconfig.
func TestTemplateServerDryRun(t *testing.T) {
	for _, flag := range []string{"--validate", "--dry-run=server"} {
		t.Run(flag, func(t *testing.T) {
			newHome(t)
			if code, _, errs := runWith(t, "directory", "template", "a", "chart", flag); code != 1 || !strings.Contains(errs, "read kubeconfig directory: it is a directory") {
				t.Errorf("got %d %s", code, errs)
			}
		})
	}
}
