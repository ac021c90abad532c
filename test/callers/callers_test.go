// SPDX-License-Identifier: Apache-2.0

package callers

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/moonhelm/moonhelm/internal/peertest"
	"github.com/moonhelm/moonhelm/test/callers/programs"
)

const (
	kubeconfigVar = "MOONHELM_TEST_KUBECONFIG"
	spoilVar      = "MOONHELM_CALLERS_SPOIL" // see TestSpoiled
	cellTimeout   = 3 * time.Minute
)

// helm is a binary that callers run.
type helm struct{ name, bin string }

// helms returns our binary and both of Helm's.
func helms(t *testing.T) []helm {
	t.Helper()
	all := []helm{{"ours", ours(t)}, {"helm4", ""}, {"helm3", ""}}
	for i, module := range []string{peertest.Helm4, peertest.Helm3} {
		bin, err := peertest.Released(module)
		if err != nil {
			t.Fatal(err)
		}
		all[i+1].bin = bin
	}
	return all
}

// ours returns the path of our binary.
func ours(t *testing.T) string {
	t.Helper()
	return peertest.Moonhelm(t, filepath.Join("..", ".."))
}

// TestCallers runs every cell of the table: each script with each binary. Ours must pass if one
// of Helm's does. The headers of the scripts have the expected results.
func TestCallers(t *testing.T) {
	admin := os.Getenv(kubeconfigVar)
	if admin == "" {
		t.Skip("no cluster: make callers brings one up (" + kubeconfigVar + ")")
	}
	all := helms(t)
	for _, c := range cells(t) {
		for _, h := range all {
			t.Run(c.name+"/"+h.name, func(t *testing.T) {
				t.Parallel()
				r := run(t, c, h, all, admin)
				reason, mayFail := c.fails[h.name]
				switch {
				case r.skipped:
					t.Skip(r.log())
				case r.failed && !mayFail:
					t.Errorf("%s with %s: %s", c.caller, h.name, r.log())
				case !r.failed && mayFail:
					t.Errorf("%s works with %s: remove the header %q of %s", c.caller, h.name, h.name+": "+reason, c.path)
				}
			})
		}
	}
}

// TestSpoiled runs every cell with a broken helm and requires each to fail. The variable
// selects the fault: with "silent" helm prints nothing, with "failing" it exits with 9 after
// its work.
func TestSpoiled(t *testing.T) {
	mode, admin := os.Getenv(spoilVar), os.Getenv(kubeconfigVar)
	endings := map[string]string{"silent": " >/dev/null", "failing": "; exit 9"}
	if mode == "" || admin == "" {
		t.Skip("only where " + spoilVar + " says how, and with a cluster")
	}
	bin := filepath.Join(t.TempDir(), "helm")
	script := fmt.Sprintf("#!/bin/sh\n%s \"$@\"%s\n", ours(t), endings[mode])
	if err := os.WriteFile(bin, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	all := helms(t)
	for _, c := range cells(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if r := run(t, c, helm{"ours", bin}, all, admin); !r.failed && !r.skipped {
				t.Errorf("%s is content with a helm that is %s", c.name, mode)
			}
		})
	}
}

// run runs the script of the cell with one binary.
func run(t *testing.T, c cell, h helm, all []helm, admin string) *recorder {
	t.Helper()
	var dirs []string
	for _, name := range c.uses {
		dir, err := program(name)
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	r := &recorder{}
	r.Run(c.name, func(tt testscript.T) {
		testscript.RunT(tt, testscript.Params{
			Files:               []string{c.path},
			RequireExplicitExec: true,
			Deadline:            time.Now().Add(cellTimeout),
			Cmds:                commands,
			Setup: func(env *testscript.Env) error {
				for _, other := range all {
					env.Setenv(strings.ToUpper(other.name), other.bin) // $HELM3, $HELM4
				}
				return setup(env, h, dirs, c.set, admin)
			},
			Condition: func(cond string) (bool, error) { return condition(cond, h) },
		})
	})
	return r
}

// condition evaluates the conditions of scripts: the name of the binary, and available
// programs.
func condition(cond string, h helm) (bool, error) {
	switch cond {
	case "ours", "helm4", "helm3":
		return cond == h.name, nil
	case "bash-completion":
		_, err := os.Stat("/usr/share/bash-completion/bash_completion")
		return err == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

var build = struct {
	sync.Mutex // builds use all processors
	failed     map[string]error
}{failed: map[string]error{}}

// program returns the directory of the program. It does not retry after a failure.
func program(name string) (string, error) {
	build.Lock()
	defer build.Unlock()
	if err := build.failed[name]; err != nil {
		return "", err
	}
	dir, err := programs.Build(name)
	build.failed[name] = err
	return dir, err
}

// setup prepares the environment of a script: the binary, directories and a namespace.
func setup(env *testscript.Env, h helm, dirs, set []string, admin string) error {
	bin, home := filepath.Join(env.WorkDir, ".bin"), filepath.Join(env.WorkDir, "home")
	for _, dir := range []string{bin, home, filepath.Join(env.WorkDir, "tmp")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := os.Symlink(h.bin, filepath.Join(bin, "helm")); err != nil {
		return err
	}
	path := append([]string{bin}, dirs...)
	path = append(path, "/usr/local/bin", "/usr/bin", "/bin")
	for _, dir := range []string{"ansible", "charts", "helmfile", "plugins"} {
		if err := os.CopyFS(filepath.Join(env.WorkDir, dir), os.DirFS(filepath.Join("testdata", dir))); err != nil {
			return err
		}
	}
	ns := fmt.Sprintf("callers-%d-%d", os.Getpid(), count.Add(1))
	kubeconfig, context, err := newNamespace(admin, ns, env.WorkDir)
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"PATH": strings.Join(path, string(filepath.ListSeparator)), "HOME": home, "TZ": "UTC", "LC_ALL": "C.UTF-8",
		"TMPDIR": filepath.Join(env.WorkDir, "tmp"), "KUBECONFIG": kubeconfig, "NS": ns,
		"PLUGINS": filepath.Join(home, ".local", "share", "helm", "plugins"), "TERM": "dumb",
		"HELMFILE_UPGRADE_NOTICE_DISABLED": "1", "GIT_CONFIG_NOSYSTEM": "1", "CONTEXT": context,
	} {
		env.Setenv(name, value)
	}
	if h.name == "ours" {
		for _, s := range set {
			name, value, _ := strings.Cut(s, "=")
			env.Setenv(name, value)
		}
	}
	serve(env)
	return nil
}

// recorder is a testscript.T that records a failure instead of failing the test.
type recorder struct {
	mu              sync.Mutex
	text            strings.Builder
	failed, skipped bool
}

func (r *recorder) Log(args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintln(&r.text, args...)
}

func (r *recorder) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func (r *recorder) Fatal(args ...any) { r.Log(args...); r.FailNow() }
func (r *recorder) FailNow()          { r.failed = true; runtime.Goexit() }
func (r *recorder) Skip(args ...any)  { r.Log(args...); r.skipped = true; runtime.Goexit() }
func (r *recorder) Parallel()         {}
func (r *recorder) Verbose() bool     { return true }

// Run runs f in a goroutine, which FailNow and Skip end.
func (r *recorder) Run(_ string, f func(testscript.T)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
}
