// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
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

// use is what a command does with the kubeconfig.
type use int

const (
	offline   use = iota // reads it never
	namespace            // takes the namespace from it, unless one is given
	cluster              // needs a cluster
)

// commandUses has every command that does something, with arguments to call it with.
// They need not make it succeed, but go past what looks at arguments.
var commandUses = map[string]struct {
	use  use
	args string
}{
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
	"diff version":          {offline, ""},
	"docs":                  {offline, "--dir out"},
	"env":                   {namespace, ""},
	"get all":               {cluster, "a"},
	"get hooks":             {cluster, "a"},
	"get manifest":          {cluster, "a"},
	"get metadata":          {cluster, "a"},
	"get notes":             {cluster, "a"},
	"get values":            {cluster, "a"},
	"help":                  {offline, "install"},
	"history":               {cluster, "a"},
	"install":               {cluster, "a chart"},
	"lint":                  {namespace, "chart"},
	"list":                  {cluster, ""},
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
	"schema":                {offline, "chart"},
	"search hub":            {offline, "x --endpoint http://127.0.0.1:1"},
	"search repo":           {offline, "x"},
	"show all":              {offline, "chart"},
	"show chart":            {offline, "chart"},
	"show crds":             {offline, "chart"},
	"show readme":           {offline, "chart"},
	"show values":           {offline, "chart"},
	"status":                {cluster, "a"},
	"template":              {namespace, "a chart"},
	"test":                  {cluster, "a"},
	"uninstall":             {cluster, "a"},
	"upgrade":               {cluster, "a chart"},
	"verify":                {offline, "out/chart-0.1.0.tgz"},
	"version":               {offline, ""},
}

// commandPaths are the paths of the commands of a tree that do something.
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

// newHome makes a home and a working directory with a chart, an archive of it and a
// plugin, and returns its path.
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
	})
	runWith(t, "none", "package", "chart", "-d", "out")
	return home
}

// runWith runs helm with a kubeconfig, in this process.
func runWith(t *testing.T, kubeconfig string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("KUBECONFIG", kubeconfig)
	var out, errs bytes.Buffer
	code = Run(context.Background(), args, cmdutil.New(term.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: os.Getenv}))
	return code, out.String(), errs.String()
}

// watchReads makes a named pipe that looks like an empty file to who reads it. The
// function that it returns says whether it was read since.
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
		for { // opening waits until it is opened for reading
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

// TestEveryCommandHasItsUse holds the table against the tree: who adds a command says
// there whether it may look at the kubeconfig.
func TestEveryCommandHasItsUse(t *testing.T) {
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

func TestOfflineCommandsReadNoKubeconfig(t *testing.T) {
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

func TestOfflineCommandsWithABrokenKubeconfig(t *testing.T) {
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
				if strings.ReplaceAll(got, second, first) != want {
					t.Errorf("with %s: got\n%s\nwant\n%s", kubeconfig, got, want)
				}
			}
		})
	}
}

// TestNamespaceOfABrokenKubeconfig has what Helm 4.3.1 prints.
func TestNamespaceOfABrokenKubeconfig(t *testing.T) {
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

// TestTemplateThatNeedsTheCluster ends with what is wrong with the kubeconfig.
func TestTemplateThatNeedsTheCluster(t *testing.T) {
	for _, flag := range []string{"--validate", "--dry-run=server"} {
		t.Run(flag, func(t *testing.T) {
			newHome(t)
			if code, _, errs := runWith(t, "directory", "template", "a", "chart", flag); code != 1 || !strings.Contains(errs, "read kubeconfig directory: it is a directory") {
				t.Errorf("got %d %s", code, errs)
			}
		})
	}
}
