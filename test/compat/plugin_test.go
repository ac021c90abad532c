// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// pluginHelm is a binary with plugins and a home directory.
type pluginHelm struct {
	name, bin, home string
	plugins         string // the directory of plugins, which all binaries of a test share
	env             []string
}

// pluginHelms returns our binary, Helm 4 and, if old is set, Helm 3 with the named plugins of
// testdata.
func pluginHelms(t *testing.T, old bool, names ...string) []*pluginHelm {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plugins")
	for _, name := range names {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join("testdata", "plugins", name))); err != nil {
			t.Fatal(err)
		}
	}
	all := []*pluginHelm{{name: "helm4", bin: peer(t, helm4)}}
	if old {
		all = append(all, &pluginHelm{name: "helm3", bin: peer(t, helm3)})
	}
	all = append(all, &pluginHelm{name: "ours", bin: ours(t)})
	for _, h := range all {
		h.home, h.plugins = t.TempDir(), dir
	}
	return all
}

func (h *pluginHelm) run(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	cmd := exec.Command(h.bin, args...)
	cmd.Env = append([]string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "HELM_PLUGINS=" + h.plugins}, h.env...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return result{h.same(stdout.String()), h.same(stderr.String()), err}
}

// chatter matches the debug messages that only Helm prints.
var chatter = regexp.MustCompile(`(?m)^level=DEBUG .*\n`)

// same returns text without the parts that differ.
func (h *pluginHelm) same(text string) string {
	return chatter.ReplaceAllString(strings.NewReplacer(h.home, "HOME", h.bin, "HELM").Replace(text), "")
}

func (r result) code() int {
	var exit *exec.ExitError
	if errors.As(r.err, &exit) {
		return exit.ExitCode()
	}
	if r.err != nil {
		return -1
	}
	return 0
}

// alike runs a command line with every binary and requires the same output and exit code.
func alike(t *testing.T, all []*pluginHelm, stdin string, args ...string) {
	t.Helper()
	want := all[0].run(t, stdin, args...)
	for _, h := range all[1:] {
		got := h.run(t, stdin, args...)
		if got.stdout != want.stdout || got.stderr != want.stderr || got.code() != want.code() {
			t.Errorf("helm %s\n%s: %d\n%s%s\n%s: %d\n%s%s", strings.Join(args, " "),
				all[0].name, want.code(), want.stdout, want.stderr, h.name, got.code(), got.stdout, got.stderr)
		}
	}
}

func TestPluginCommandsAreCalledAlike(t *testing.T) {
	all := pluginHelms(t, true, "relnotes")
	chart := valuesChart(t, "1.0.0", "a: 1\n")
	if err := os.WriteFile(filepath.Join(chart, "NEWS"), []byte("- everything\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"relnotes"},
		{"relnotes", "--help"},
		{"relnotes", "-h"},
		{"relnotes", "show", chart, "-n", "prod"},
		{"-n", "prod", "relnotes", "show", "--raw", chart},
		{"relnotes", "show", "--nope"},
		{"relnotes", "exit", "0"},
		{"relnotes", "exit", "1"},
		{"relnotes", "exit", "42"},
		{"relnotes", "cat", "x"},
		// Helm drops an empty argument and the next one; ours does not.
		{"relnotes", "args", "a b", "$HOME", "--", "-n", "x", "--flag=1", "-abc", "-nx", "-v", "3"},
		{"relnotes", "args", "--namespace=x", "-n=y", "--kubeconfig", "/k", "--debug", "--debug=true", "--kube-as-group", "g", "--color", "never"},
		{"relnotes", "args", "--kube-insecure-skip-tls-verify", "--kube-context=c", "--registry-config", "r", "--qps", "1", "--content-cache", "x"},
		{"--kube-context", "c", "--namespace", "n", "relnotes", "args", "-n", "m", "z"},
	} {
		alike(t, all, "from standard input\n", args...)
	}
}

// TestPluginsSeeTheSameEnvironment compares the environment of plugins: ours has the variables
// of both Helms, those of the first documents of Helm 3, and more.
func TestPluginsSeeTheSameEnvironment(t *testing.T) {
	all := pluginHelms(t, true, "relnotes")
	for _, flags := range [][]string{
		nil,
		{"-n", "prod", "--kube-context", "c", "--kube-apiserver", "https://x", "--kube-ca-file", "ca", "--kube-tls-server-name", "s"},
		{"--kubeconfig", "/k", "--kube-token", "t", "--kube-as-user", "u", "--registry-config", "/r", "--repository-config", "/f", "--repository-cache", "/c"},
		{"--kube-insecure-skip-tls-verify", "--debug"},
	} {
		own := regexp.MustCompile(`(?m)^HELM_(HOME|PATH_[A-Z]+|BUILTIN|COMPAT|PROGRESS)=.*\n`)
		var got []string
		for _, h := range all {
			r := h.run(t, "", append([]string{"relnotes", "env"}, flags...)...)
			if h.name == "ours" {
				wantIn(t, "our environment", r.stdout, "HELM_HOME=HOME/.local/share/helm\n", "HELM_PATH_CACHE=HOME/.cache/helm\n",
					"HELM_PATH_CONFIG=HOME/.config/helm\n", "HELM_PATH_DATA=HOME/.local/share/helm\n")
			}
			got = append(got, own.ReplaceAllString(r.stdout, ""))
		}
		if got[0] != got[2] {
			t.Errorf("%q: Helm 4 gives\n%s\nours\n%s", flags, got[0], got[2])
		}
		without := regexp.MustCompile(`(?m)^HELM_CONTENT_CACHE=.*\n`).ReplaceAllString(got[2], "")
		if got[1] != without {
			t.Errorf("%q: Helm 3 gives\n%s\nours\n%s", flags, got[1], got[2])
		}
	}
}

func TestPluginsForHelm4AreCalledAlike(t *testing.T) {
	all := pluginHelms(t, false, "greet", "relnotes")
	for _, args := range [][]string{
		{"greet"},
		{"greet", "a b", "-n", "x", "--kube-context", "c", "--nope", "--kubeconfig", "/k"},
		{"plugin", "list"},
		{"plugin", "list", "--type", "getter/v1"},
		{"plugin", "list", "--type", "cli/v1"},
		{"plugin", "ls"},
	} {
		alike(t, all, "", args...)
	}
	for _, h := range all {
		r := h.run(t, "", "help", "greet")
		wantIn(t, h.name, r.stdout, "Greets someone, or everybody.", "helm greet [NAME] [flags]")
		r = h.run(t, "", "--help")
		wantIn(t, h.name, r.stdout, "greet       greet someone\n", "relnotes    show what is new in a chart\n")
	}
}

// words returns the completions that a shell offers, sorted and without the global flags, which
// differ.
func words(r result) string {
	var out []string
	for line := range strings.Lines(r.stdout) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		global := strings.HasPrefix(line, "-") && strings.Contains(line, "\t")
		if !global && word != "-v" {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "")
}

func TestPluginsCompleteAlike(t *testing.T) {
	all := pluginHelms(t, true, "relnotes", "shelf")
	for _, line := range [][]string{
		{"relnotes", ""}, {"relnotes", "s"}, {"relnotes", "-"}, {"relnotes", "--"},
		{"relnotes", "show", ""}, {"relnotes", "show", "-"}, {"relnotes", "show", "--r"},
		{"relnotes", "show", "-n", "prod", "x", "--unknown", "./"}, {"relnotes", "show", "--kube-context=", "d"},
		{"relnotes", "show", "--kubeconfig", "/k", ""}, {"relnotes", "show", "--foo="},
		{"relnotes", "env", ""}, {"relnotes", "exit", ""}, {"relnotes", "exit", "3", ""}, {"relnotes", "nope", ""},
		{"-n", "prod", "relnotes", "show", ""}, {"help", "rel"}, {"rel"},
	} {
		args := append([]string{"__complete"}, line...)
		want := words(all[0].run(t, "", args...))
		for _, h := range all[1:] {
			if got := words(h.run(t, "", args...)); got != want {
				t.Errorf("%q: %s offers\n%s\n%s offers\n%s", line, all[0].name, want, h.name, got)
			}
		}
	}
}

// TestDownloadersAreCalledAlike uses charts and values with the scheme of a plugin in every
// way.
func TestDownloadersAreCalledAlike(t *testing.T) {
	all := pluginHelms(t, true, "shelf")
	shelf := t.TempDir()
	chart := valuesChart(t, "1.0.0", "colour: red\n")
	must(t, ours(t), t.TempDir(), "package", chart, "-d", filepath.Join(shelf, "top"))
	must(t, ours(t), t.TempDir(), "repo", "index", filepath.Join(shelf, "top"))
	if err := os.WriteFile(filepath.Join(shelf, "v.yaml"), []byte("colour: blue\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		log := filepath.Join(t.TempDir(), "log")
		h.env = []string{"SHELF=" + shelf, "SHELF_LOG=" + log}
		wantIn(t, h.name, h.run(t, "", "show", "chart", "shelf://top/shown-1.0.0.tgz").stdout, "name: shown", "version: 1.0.0")
		wantIn(t, h.name, h.run(t, "", "template", "books://top/shown-1.0.0.tgz", "-f", "shelf://v.yaml").stdout, `\"colour\":\"blue\"`)
		wantIn(t, h.name, h.run(t, "", "repo", "add", "s", "shelf://top", "--username", "anna", "--password", "pw").stdout, `"s" has been added`)
		wantIn(t, h.name, h.run(t, "", "repo", "update").stdout, `"s" chart repository`)
		wantIn(t, h.name, h.run(t, "", "show", "values", "s/shown").stdout, "colour: red")
		wantIn(t, h.name, h.run(t, "", "template", "s/shown").stdout, `\"colour\":\"red\"`)
		into := t.TempDir()
		if r := h.run(t, "", "pull", "s/shown", "-d", into); r.err != nil || !exists(filepath.Join(into, "shown-1.0.0.tgz")) {
			t.Errorf("%s pulls nothing: %v %s", h.name, r.err, r.stderr)
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		wantIn(t, h.name, string(text), "shelf://top/index.yaml user=anna password=pw all=false cert= key= ca=\n",
			"shelf://v.yaml user= password= all=false", "books://top/shown-1.0.0.tgz user= password= all=false")
		for _, args := range [][]string{
			{"show", "chart", "shelf://top/missing-1.0.0.tgz"}, {"pull", "shelf://nothing"}, {"repo", "add", "t", "shelf://nowhere"},
		} {
			if r := h.run(t, "", args...); r.code() != 1 {
				t.Errorf("%s %q: code %d", h.name, args, r.code())
			}
		}
	}
}

func TestGettersForHelm4AreCalledAlike(t *testing.T) {
	all := pluginHelms(t, false, "label")
	chart := valuesChart(t, "1.0.0", "colour: red\n")
	alike(t, all, "", "template", chart, "-f", "label://colour/green")
}

// TestPluginsAreInstalledAlike installs from a directory and from an archive, with hooks, and
// removes each plugin with the other binary.
func TestPluginsAreInstalledAlike(t *testing.T) {
	all := pluginHelms(t, false)
	archive := filepath.Join(t.TempDir(), "greet-0.2.0.tgz")
	must(t, ours(t), t.TempDir(), "plugin", "package", filepath.Join("testdata", "plugins", "greet"), "--sign=false", "-d", filepath.Dir(archive))
	directory, err := filepath.Abs(filepath.Join("testdata", "plugins", "relnotes"))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		h.plugins = filepath.Join(h.home, ".local", "share", "helm", "plugins") // Helm 4 always installs there
	}
	alike(t, all, "", "plugin", "install", directory)
	for _, h := range all { // the warning is on the other stream
		r := h.run(t, "", "plugin", "install", archive, "--verify=false")
		wantIn(t, h.name, r.stdout, "greet is here\nInstalled plugin: greet\n")
		wantIn(t, h.name, r.stdout+r.stderr, "WARNING: Skipping plugin signature verification\n")
	}
	alike(t, all, "", "plugin", "list")
	alike(t, all, "", "greet", "x")
	alike(t, all, "", "plugin", "uninstall", "relnotes")
	for _, h := range all {
		if r := h.run(t, "", "plugin", "install", archive, "--verify=false"); r.code() != 1 {
			t.Errorf("%s installs it twice", h.name)
		}
		if r := h.run(t, "", "plugin", "install", archive); r.code() != 1 {
			t.Errorf("%s installs what is not signed", h.name)
		}
	}
	all[0].home, all[1].home = all[1].home, all[0].home
	all[0].plugins, all[1].plugins = all[1].plugins, all[0].plugins
	alike(t, all, "", "plugin", "list")
	alike(t, all, "", "greet", "y")
	alike(t, all, "", "plugin", "uninstall", "greet")
	for _, h := range all {
		if entries, err := os.ReadDir(h.plugins); err != nil || len(entries) > 0 {
			t.Errorf("%s leaves %v, %v", h.name, entries, err)
		}
	}
}

// TestSignedPluginsAreExchanged packs and signs with one binary and verifies and installs with
// the other.
func TestSignedPluginsAreExchanged(t *testing.T) {
	_, keys := gnupg(t)
	directory := filepath.Join("testdata", "plugins", "greet")
	all := pluginHelms(t, false)
	for i, h := range all {
		other := all[1-i]
		h.plugins = filepath.Join(h.home, ".local", "share", "helm", "plugins")
		dist := t.TempDir()
		archive := filepath.Join(dist, "greet-0.2.0.tgz")
		if r := h.run(t, "", "plugin", "package", directory, "--key", "Rita", "--keyring", keys, "-d", dist); r.err != nil {
			t.Fatalf("%s: %s%s", h.name, r.stdout, r.stderr)
		}
		r := other.run(t, "", "plugin", "verify", archive, "--keyring", keys)
		wantIn(t, other.name, r.stdout, "Signed by: Rita", "Using Key With Fingerprint: ", "Plugin Hash Verified: sha256:")
		if first := h.run(t, "", "plugin", "verify", archive, "--keyring", keys); first.stdout != r.stdout {
			t.Errorf("%s says\n%s\n%s says\n%s", h.name, first.stdout, other.name, r.stdout)
		}
		r = other.run(t, "", "plugin", "install", archive, "--keyring", keys)
		wantIn(t, other.name, r.stdout, "Verifying plugin signature...\nSigned by: Rita", "greet is here\nInstalled plugin: greet\n")
		wantIn(t, other.name, other.run(t, "", "plugin", "list").stdout, "signed")
		if err := os.WriteFile(archive, append([]byte(read(t, archive)), 'x'), 0o644); err != nil {
			t.Fatal(err)
		}
		if r := other.run(t, "", "plugin", "verify", archive, "--keyring", keys); r.code() != 1 {
			t.Errorf("%s verifies what was altered: %s", other.name, r.stdout)
		}
	}
}

// TestPluginsFromGitAreExchanged updates and removes plugins that another binary has installed
// from a git repository.
func TestPluginsFromGitAreExchanged(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	web := t.TempDir()
	work, bare := filepath.Join(t.TempDir(), "work"), filepath.Join(web, "helm-relnotes.git")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	version := func(number string) {
		manifest := filepath.Join(work, "plugin.yaml")
		filetest.WriteFile(t, manifest, regexp.MustCompile(`(?m)^version: .*`).ReplaceAllString(read(t, manifest), "version: "+number))
		git("-C", work, "add", "-A")
		git("-C", work, "commit", "-q", "-m", number)
		git("-C", work, "push", "-q", bare, "main")
		git("-C", bare, "update-server-info") // the repository is served as files
	}
	if err := os.CopyFS(work, os.DirFS(filepath.Join("testdata", "plugins", "relnotes"))); err != nil {
		t.Fatal(err)
	}
	git("init", "-q", "--initial-branch=main", work)
	git("init", "-q", "--bare", "--initial-branch=main", bare)
	server := httptest.NewServer(http.FileServer(http.Dir(web)))
	defer server.Close()
	all := pluginHelms(t, true)
	for i, installs := range all {
		for j, updates := range all {
			if i == j {
				continue
			}
			version(fmt.Sprintf("%d.%d.0", i+1, j))
			home := t.TempDir()
			installs.home, updates.home = home, home
			installs.plugins = filepath.Join(home, ".local", "share", "helm", "plugins")
			updates.plugins = installs.plugins
			args := []string{"plugin", "install", server.URL + "/helm-relnotes.git"}
			if installs.name == "helm4" {
				args = append(args, "--verify=false")
			}
			what := installs.name + " installs, " + updates.name + " updates"
			r := installs.run(t, "", args...)
			wantIn(t, what, r.stdout+r.stderr, "install of relnotes in helm-relnotes.git\nInstalled plugin: relnotes\n")
			version(fmt.Sprintf("%d.%d.1", i+1, j))
			wantIn(t, what, updates.run(t, "", "plugin", "update", "relnotes").stdout, "update of relnotes in helm-relnotes.git\nUpdated plugin: relnotes")
			wantIn(t, what, updates.run(t, "", "plugin", "list").stdout, fmt.Sprintf("%d.%d.1", i+1, j))
			wantIn(t, what, updates.run(t, "", "plugin", "uninstall", "relnotes").stdout, "goodbye from relnotes\nUninstalled plugin: relnotes\n")
		}
	}
}

// TestOneBrokenPluginHidesNoOther: as in Helm 4.
func TestOneBrokenPluginHidesNoOther(t *testing.T) {
	all := pluginHelms(t, false, "greet")
	for name, text := range map[string]string{
		"empty": "", "twice": "name: a\nname: b\nversion: 1.0.0\n", "named": "name: \"../x\"\nversion: 1.0.0\n",
		"version": "name: v\nversion: 1.0.0/../../x\n", "wasm": "apiVersion: v1\nname: w\ntype: cli/v1\nruntime: nope\nversion: 1.0.0\n",
	} {
		dir := filepath.Join(all[0].plugins, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "plugin.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range all {
		r := h.run(t, "", "greet")
		wantIn(t, h.name, r.stdout, "[--polite]")
		for _, name := range []string{"empty", "twice", "named", "version", "wasm"} {
			wantIn(t, h.name, r.stderr, filepath.Join(h.plugins, name))
		}
		if r := h.run(t, "", "plugin", "list"); strings.Count(r.stdout, "\n") != 2 {
			t.Errorf("%s lists\n%s", h.name, r.stdout)
		}
	}
}
