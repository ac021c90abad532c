// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/internal/testdeps"
)

// page returns the text of a page of docs/.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMigrationDeviations checks that each entry of docs/differences.md has its line in the tables of
// docs/coming-from-helm.md, and each line its entry.
func TestMigrationDeviations(t *testing.T) {
	var listed []string
	entry := regexp.MustCompile(`(?m)^- \*\*((?s:.+?))\*\*`)
	for _, m := range entry.FindAllStringSubmatch(page(t, "differences.md"), -1) {
		listed = append(listed, strings.TrimSuffix(strings.Join(strings.Fields(m[1]), " "), "."))
	}
	_, text, ok := strings.Cut(page(t, "coming-from-helm.md"), "\n## Every deviation\n")
	if !ok {
		t.Fatal("docs/coming-from-helm.md has no section on every deviation")
	}
	var rows []string
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if name, ok := strings.CutPrefix(cells[0], "| "); ok && len(cells) == 3 && name != "" && name != "|" {
			rows = append(rows, name)
		}
	}
	compareNames(t, "docs/coming-from-helm.md, compared with docs/differences.md,", rows, listed)
}

// TestMigrationWords runs the commands of earlier versions of Helm: each ends with an error that says
// what replaces it, or works as before.
func TestMigrationWords(t *testing.T) {
	text := under(t, page(t, "coming-from-helm.md"), "From Helm 2's words")
	commands := 0
	for _, row := range rows(text) {
		for _, m := range regexp.MustCompile("`(helm [^`]+)`").FindAllStringSubmatch(row[0], -1) {
			commands++
			t.Run(m[1], func(t *testing.T) {
				c := shown{line: m[1]}
				if words := strings.Fields(m[1]); words[1] == "fetch" || words[1] == "inspect" {
					c.line += " --help"
					if got := c.run(t, t.TempDir()); !strings.Contains(got, "Usage:") {
						t.Errorf("%s printed %q, want its help", c.line, got)
					}
					return
				}
				// What replaces it follows the name of the command or flag.
				got := c.run(t, t.TempDir())
				first, _, _ := strings.Cut(got, "\n")
				if !strings.HasPrefix(first, "Error: ") || strings.Count(first, ": ") < 2 {
					t.Errorf("%s printed %q, want an error that says what replaces it", m[1], got)
				}
			})
		}
	}
	if commands < 15 {
		t.Errorf("%d commands found, want 15 or more", commands)
	}
}

// TestEnvironment compares the variables in docs/environment.md with those in the code. Those of
// helm diff are in docs/diff.md.
func TestEnvironment(t *testing.T) {
	text := page(t, "environment.md") + page(t, "diff.md")
	name := regexp.MustCompile(`\b(HELM_[A-Z_0-9]*[A-Z0-9]|MOONHELM_RELEASES)`)
	found := map[string]bool{}
	quoted := regexp.MustCompile(`"(HELM_[A-Z_0-9]+|MOONHELM_RELEASES)"`)
	eachSourceFile(t, func(_ string, text []byte) {
		for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = true
		}
	})
	for variable := range found {
		if !slices.Contains(name.FindAllString(text, -1), variable) {
			t.Errorf("docs/environment.md does not have %s", variable)
		}
	}
	for _, variable := range name.FindAllString(page(t, "environment.md"), -1) {
		if !found[variable] {
			t.Errorf("docs/environment.md has %s, which is not in the code", variable)
		}
	}
}

var blanks = regexp.MustCompile(`[ \t]+`)

// squeeze returns text with single blanks, and none at the ends of lines.
func squeeze(text string) string {
	return strings.ReplaceAll(blanks.ReplaceAllString(text, " "), " \n", "\n")
}

// loosely returns the expression for an output in which "..." stands for anything.
func loosely(shown string) *regexp.Regexp {
	var pattern strings.Builder
	for line := range strings.Lines(squeeze(shown)) {
		if strings.TrimSpace(line) == "..." {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, ".*"))
	}
	return regexp.MustCompile("^" + pattern.String() + "$")
}

// TestHowItWorksBars checks that the numbers of the bars of docs/how-it-works.md are those of
// docs/performance.md.
func TestHowItWorksBars(t *testing.T) {
	blocks := strings.Split(page(t, "how-it-works.md"), "```bars\n")[1:]
	if len(blocks) == 0 {
		t.Fatal("docs/how-it-works.md has no bars")
	}
	measured := strings.Split(strings.ReplaceAll(page(t, "performance.md"), "`", ""), "\n")
	for _, b := range blocks {
		b, _, _ := strings.Cut(b, "```")
		for line := range strings.Lines(b) {
			want := strings.Split(strings.TrimSpace(line), " | ")
			if !slices.ContainsFunc(measured, func(row string) bool {
				cells := strings.Split(strings.Trim(row, "| "), " | ")
				return len(cells) > 2 && strings.HasPrefix(cells[0], want[0]) &&
					slices.Contains(strings.Split(cells[1], ", "), want[1]) &&
					slices.Contains(strings.Split(cells[2], ", "), want[2])
			}) {
				t.Errorf("docs/performance.md has no row with %q", line)
			}
		}
	}
}

// firstWords are the words with which a page may begin: what the reader wants to do.
var firstWords = strings.Fields(`Check Compare Decide Derive Deploy Fetch Find Install Look Make Name Push Read Replace
	Run Add Say See Set Sign Use Write`)

// TestFirstLines checks that each page of docs/ says in its first line what its reader wants to do.
func TestFirstLines(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(files) < 25 {
		t.Fatalf("got %d pages, %v", len(files), err)
	}
	for _, file := range files {
		text := regexp.MustCompile(`(?s)<!--.*?-->`).ReplaceAllString(page(t, filepath.Base(file)), "")
		heading, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
		first, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		word, _, _ := strings.Cut(first, " ")
		if !strings.HasPrefix(heading, "# ") || !slices.Contains(firstWords, strings.TrimRight(word, ",:")) {
			t.Errorf("%s begins with %q, %q: want a heading, and what the reader wants to do", filepath.Base(file), heading, first)
		}
	}
}

// TestReadme runs the commands of README.md after "Five minutes" on the control plane, in one shell. The
// first block, which builds the program and a control plane, is left out.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n### Five minutes\n")
	part, _, _ = strings.Cut(part, "\n## ")
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(part, -1)
	if len(blocks) < 6 {
		t.Fatalf("got %d blocks, want those of the section", len(blocks))
	}
	for _, program := range []string{"bash", "python3"} {
		testdeps.Program(t, program)
	}
	namespace := makeNamespace(t, "readme")
	script := "set -e\n"
	for _, b := range blocks[1:] {
		script += b[1]
	}
	dir := t.TempDir()
	cmd := exec.Command("bash", "-c", strings.ReplaceAll(script, "cluster down", "true cluster down"))
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + dir, "TERM=dumb",
		"KUBECONFIG=" + os.Getenv(apiserver.Kubeconfig), "HELM_NAMESPACE=" + namespace,
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"has been upgraded", "Rollback was a success", "+ \"shop\"", `release "web" uninstalled`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("got no %q in\n%s", want, out)
		}
	}
}
