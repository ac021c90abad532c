// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
)

var (
	inlineCode  = regexp.MustCompile("`(helm [^`\n]+)`")
	fencedBlock = regexp.MustCompile("(?ms)^ *```(?:console|sh)\n(.*?)^ *```$")
	helmLine    = regexp.MustCompile(`(?m)^ *(?:- run: |- |\$ )?(helm [^#\n]*(?:\\\n[^#\n]*)*)`)
)

// added are the commands that plugins of the pages add, and those that cobra adds.
var added = strings.Fields("greet hello secrets unittest help __complete")

// notOurs are the pages whose command lines are those of other versions or programs.
var notOurs = []string{"callers.md", "differences.md"}

// TestCommandLines checks each command line of README.md and docs/: the command exists, and has the flags.
// Those of charts' plugins, and of earlier versions of Helm, are others'.
func TestCommandLines(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	root := New(cmdutil.New(term.Streams{}))
	found := 0
	for _, file := range append(files, filepath.Join("..", "..", "README.md")) {
		if slices.Contains(notOurs, filepath.Base(file)) {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		if before, after, ok := strings.Cut(text, "\n## From Helm 2's words\n"); ok {
			_, after, _ = strings.Cut(after, "\n## ")
			text = before + "\n" + after
		}
		for _, line := range commandLines(text) {
			found++
			if problem := checkCommandLine(root, line); problem != "" {
				t.Errorf("%s: %s: %s", filepath.Base(file), line, problem)
			}
		}
	}
	if found < 300 {
		t.Errorf("got %d command lines, want those of all pages", found)
	}
}

// commandLines returns the lines of a page that call helm.
func commandLines(text string) (lines []string) {
	for _, m := range inlineCode.FindAllStringSubmatch(text, -1) {
		lines = append(lines, m[1])
	}
	for _, block := range fencedBlock.FindAllStringSubmatch(text, -1) {
		for _, m := range helmLine.FindAllStringSubmatch(block[1], -1) {
			lines = append(lines, strings.Join(strings.Fields(strings.ReplaceAll(m[1], "\\\n", " ")), " "))
		}
	}
	return lines
}

// checkCommandLine returns what is wrong with a line, or "".
func checkCommandLine(root *cobra.Command, line string) string {
	line, _, _ = strings.Cut(line, " | ")
	words := strings.Fields(line)[1:]
	for i, w := range words { // placeholders and what follows the command in the shell
		if strings.ContainsAny(w, "<>;&(") || w == "||" {
			words = words[:i]
			break
		}
	}
	if len(words) == 0 || strings.Trim(words[0], ".ABCDEFGHIJKLMNOPQRSTUVWXYZ|") == "" {
		return ""
	}
	if slices.Contains(added, words[0]) {
		return ""
	}
	cmd, _, err := root.Find(words)
	if err != nil || cmd == root && !strings.HasPrefix(words[0], "-") {
		return "there is no such command"
	}
	for _, w := range words {
		name, _, _ := strings.Cut(w, "=")
		switch {
		case w == "--":
			return ""
		case name == "-h" || name == "--help":
		case strings.HasPrefix(name, "--"):
			if cmd.Flag(name[2:]) == nil && cmd.InheritedFlags().Lookup(name[2:]) == nil {
				return fmt.Sprintf("helm %s has no flag %s", cmd.Name(), name)
			}
		case len(name) == 2 && name[0] == '-':
			if cmd.Flags().ShorthandLookup(name[1:]) == nil && cmd.InheritedFlags().ShorthandLookup(name[1:]) == nil {
				return fmt.Sprintf("helm %s has no flag %s", cmd.Name(), name)
			}
		}
	}
	return ""
}

func TestCheckCommandLine(t *testing.T) {
	root := New(cmdutil.New(term.Streams{}))
	for line, want := range map[string]string{
		"helm upgrade --install web ./web -f values.yaml": "",
		"helm upgrade web --instal":                       "helm upgrade has no flag --instal",
		"helm diff upgrade web ./web --install -q":        "",
		"helm hatch web":                                  "there is no such command",
		"helm list -Z":                                    "helm list has no flag -Z",
		"helm list --all-namespaces | grep web --line":    "",
		"helm COMMAND --help":                             "",
	} {
		if got := checkCommandLine(root, line); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}
