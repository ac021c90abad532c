// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The bits of a completion's directive.
const (
	directiveError     = 1
	directiveKeepOrder = 32
)

// completion is the output of a binary for a command line.
type completion struct {
	words     []string
	help      []string // active help
	directive int
}

func complete(t *testing.T, bin, home string, line ...string) completion {
	t.Helper()
	return completionOf(t, line, run(t, bin, home, append([]string{"__complete"}, line...)...))
}

// completeHelm is like complete for one of Helm's binaries, with a cache.
func completeHelm(t *testing.T, bin, home string, line ...string) completion {
	t.Helper()
	return completionOf(t, line, ask(t, bin, home, append([]string{"__complete"}, line...)...))
}

func completionOf(t *testing.T, line []string, r result) completion {
	t.Helper()
	c := completion{directive: -1}
	for text := range strings.Lines(r.stdout) {
		text = strings.TrimSuffix(text, "\n")
		word, _, _ := strings.Cut(text, "\t")
		help, isHelp := strings.CutPrefix(text, "_activeHelp_ ")
		n, err := strconv.Atoi(strings.TrimPrefix(text, ":"))
		switch {
		case isHelp:
			c.help = append(c.help, help)
		case strings.HasPrefix(text, ":") && err == nil:
			c.directive = n
		default:
			c.words = append(c.words, word)
		}
	}
	if r.err != nil {
		t.Errorf("helm __complete %q: %v\n%s", line, r.err, r.stderr)
	}
	return c
}

// narrower are the places where our binary completes other words than files, or none, with the
// reason. Helm completes all files there.
var narrower = []struct{ line, reason string }{
	{`^(get \w+|history|rollback|status|test|uninstall|upgrade) `, "names of releases and revisions: without an answer of the cluster there are none, and files are not releases"},
	{`^(search (hub|repo)|list|version|registry \w+) `, "words to search for, and hosts, are not files"},
	{`^push `, "archives only"},
	{`^repo index `, "directories only"},
	{`^dependency (build|list|update) x `, "takes one chart only"},
	{`^plugin (package|verify) x `, "takes one plugin only"},
	{`--(cascade|wait|dry-run|server-side|color|type|chart-api-version)\b`, "one of a few words"},
	{`--(api-versions|app-version|burst-limit|description|endpoint|filter|history-max|jsonpath|key|labels|max|max-col-width|name-template|offset|password|qps|repo|selector|set|set-json|set-literal|set-string|template|time-format|timeout|url|username|version|kube-version|max|revision)\b`, "not the name of a file"},
	{`--kube-(apiserver|as-group|as-user|tls-server-name|token)\b`, "not the name of a file"},
	{`--namespace\b`, "names of namespaces, which the cluster does not tell"},
}

// wider are the places where our binary completes more words than Helm, with the reason.
var wider = []struct{ line, reason string }{
	{`^(install|template) stable/$`, "with --generate-name the first argument is the chart, and files are charts too"},
	{`^pull x `, "takes any number of charts"},
}

// unoffered are flags of Helm that our binary accepts but does not complete: older names and
// flags without effect. TestFlagsOfHelm checks that they are accepted.
const unoffered = "--all --atomic --colour --fail-on-repo-update-fail --force --hide-notes --no-update --recreate-pods --show-desc --show-resources"

// TestCompletionsOfHelm compares the completions at each place of each command line that Helm's
// help describes: our binary completes the same words and has the same directive.
func TestCompletionsOfHelm(t *testing.T) {
	home, bin := completionHome(t), ours(t)
	t.Chdir(t.TempDir()) // without files
	t.Setenv("MOONHELM_TEST_KUBECONFIG", filepath.Join(home, "kubeconfig"))
	for _, module := range []string{helm4, helm3} {
		helm := peer(t, module)
		lines := [][]string{{""}, {"--namespace", ""}, {"--kube-context", ""}, {"help", ""}, {"help", "repo", ""}}
		for _, command := range commandsOf(t, helm, home) {
			lines = append(lines, linesOf(t, helm, home, command)...)
		}
		if len(lines) < 200 {
			t.Errorf("%s: only %d lines: this test cannot read the help any more", module, len(lines))
		}
		var wg sync.WaitGroup
		turn := make(chan struct{}, runtime.NumCPU())
		for _, line := range lines {
			turn <- struct{}{}
			wg.Go(func() {
				defer func() { <-turn }()
				compareCompletion(t, line, completeHelm(t, helm, home, line...), complete(t, bin, home, line...))
			})
		}
		wg.Wait()
	}
}

func compareCompletion(t *testing.T, line []string, theirs, own completion) {
	t.Helper()
	text := strings.Join(line, " ")
	for _, word := range theirs.words {
		hidden := slices.Contains(strings.Fields(unoffered), word) || line[0] == "template" && strings.HasPrefix(word, "--")
		if strings.HasPrefix(word, line[len(line)-1]) && !slices.Contains(own.words, word) && !hidden {
			t.Errorf("helm %s<TAB>: %q is not offered; ours are %q", text, word, own.words)
		}
	}
	for _, help := range theirs.help {
		if !slices.Contains(own.help, help) {
			t.Errorf("helm %s<TAB>: it does not say %q", text, help)
		}
	}
	if got := own.directive &^ directiveKeepOrder; got == theirs.directive {
		return
	}
	known := func(n struct{ line, reason string }) bool { return regexp.MustCompile(n.line).MatchString(text) }
	narrow := theirs.directive&^directiveError == 0 && slices.ContainsFunc(narrower, known)
	if !narrow && !slices.ContainsFunc(wider, known) {
		t.Errorf("helm %s<TAB>: directive is %d, Helm's is %d", text, own.directive, theirs.directive)
	}
}

// commandsOf returns the commands that Helm completes, including groups.
func commandsOf(t *testing.T, helm, home string) [][]string {
	var out [][]string
	var walk func(path []string)
	walk = func(path []string) {
		for _, word := range completeHelm(t, helm, home, append(slices.Clone(path), "")...).words {
			sub := append(slices.Clone(path), word)
			if r := ask(t, helm, home, append(sub, "--help")...); !strings.Contains(r.stdout, "helm "+strings.Join(sub, " ")) {
				continue // an argument, not a command
			}
			out = append(out, sub)
			if len(sub) < 3 {
				walk(sub)
			}
		}
	}
	walk(nil)
	return out
}

// linesOf returns the command lines to complete for one command: each argument, and the value
// of each flag that has one.
func linesOf(t *testing.T, helm, home string, command []string) [][]string {
	lines := [][]string{
		append(slices.Clone(command), ""),
		append(slices.Clone(command), "x", ""),
		append(slices.Clone(command), "x", "y", ""),
		append(slices.Clone(command), "stable/"),
		append(slices.Clone(command), "x", "stable/"),
		append(slices.Clone(command), "--"),
	}
	help, _, _ := strings.Cut(ask(t, helm, home, append(slices.Clone(command), "--help")...).stdout, "\nGlobal Flags:")
	for _, m := range helpLine.FindAllStringSubmatch(help, -1) {
		if m[2] == "--help" || m[3] == "" {
			continue
		}
		if m[4] != "" { // a flag with an optional value
			lines = append(lines, append(slices.Clone(command), m[2]+"="))
			continue
		}
		lines = append(lines, append(slices.Clone(command), m[2], ""))
		if m[2] == "--version" {
			lines = append(lines, append(slices.Clone(command), "stable/web", m[2], ""), append(slices.Clone(command), "x", "stable/web", m[2], ""))
		}
	}
	return lines
}

// completionHome has a repository and a kubeconfig whose cluster does not exist.
func completionHome(t *testing.T) string {
	home := t.TempDir()
	for name, text := range map[string]string{
		".config/helm/repositories.yaml":           "apiVersion: \"\"\nrepositories:\n- name: stable\n  url: https://example.com/stable\n",
		".cache/helm/repository/stable-charts.txt": "web\nother\n",
		".cache/helm/repository/stable-index.yaml": "apiVersion: v1\nentries:\n" +
			"  web:\n  - {apiVersion: v2, name: web, version: 1.10.0, appVersion: \"7.1\", created: \"2024-05-06T07:08:09Z\", urls: [a.tgz]}\n" +
			"  - {apiVersion: v2, name: web, version: 1.2.0, created: \"2023-05-06T07:08:09Z\", urls: [b.tgz]}\n" +
			"  other:\n  - {apiVersion: v2, name: other, version: 0.1.0, urls: [o.tgz]}\n",
		"kubeconfig": "apiVersion: v1\nkind: Config\ncurrent-context: blue\ncontexts:\n" +
			"- {name: blue, context: {cluster: c1, user: u}}\n- {name: red, context: {cluster: c1, user: u}}\n" +
			"clusters:\n- {name: c1, cluster: {server: \"https://127.0.0.1:1\"}}\nusers: [{name: u, user: {}}]\n",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// TestCompletionDescriptions compares the descriptions of completed words.
func TestCompletionDescriptions(t *testing.T) {
	home, bin, helm := completionHome(t), ours(t), peer(t, helm4)
	t.Chdir(t.TempDir())
	t.Setenv("MOONHELM_TEST_KUBECONFIG", filepath.Join(home, "kubeconfig"))
	for _, line := range [][]string{
		{"install", "x", ""}, {"pull", ""}, {"repo", "remove", ""}, {"pull", "stable/web", "--version", ""},
		{"install", "x", "stable/web", "--version", ""}, {"--kube-context", ""}, {"status", "-o", ""},
	} {
		t.Run(fmt.Sprint(line), func(t *testing.T) {
			want := must(t, helm, home, append([]string{"__complete"}, line...)...)
			got := must(t, bin, home, append([]string{"__complete"}, line...)...)
			for text := range strings.Lines(want) {
				if !strings.HasPrefix(text, ":") && !strings.Contains("\n"+got, "\n"+text) {
					t.Errorf("%q is not among\n%s", text, got)
				}
			}
		})
	}
}
