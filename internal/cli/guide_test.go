// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// TestGuide runs every example of docs/scripts.md as a reader would. How they
// are written:
//
//   - a line that holds nothing but a file's name in backquotes makes the next
//     fenced block that file;
//   - a block "console" holds commands after "$ " and what they print, standard
//     error included. A line "..." stands for any lines. A command fails exactly
//     if it prints a line that begins with "Error:". What follows
//     "Allow? (y, yes, n, no) > " is typed at a terminal;
//   - the files of the first section with files are there in all that follow;
//     other files stay to the end of their "##" section.
//
// Every file must be there for a command that follows, so an example that
// nothing runs fails the test. With -update, the guide is made to show what is
// printed now.
func TestGuide(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "scripts.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, problems := parseGuide(string(text))
	for _, p := range problems {
		t.Errorf("docs/scripts.md:%s", p)
	}
	var base []block
	for i := range doc.sections {
		s := &doc.sections[i]
		s.page = "docs/scripts.md"
		t.Run(s.title, func(t *testing.T) { s.run(t, base) })
		if base == nil {
			base = s.files()
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(path, []byte(doc.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Examples that no command uses are reported.
func TestGuideIsComplete(t *testing.T) {
	const start = "## Start\n\n`web/Chart.yaml`\n\n```yaml\nname: web\n```\n\n## Next\n\n"
	for name, test := range map[string]struct{ text, want string }{
		"a block without a name": {"```lua\nx = 1\n```\n", "11: this lua block is neither a file nor a console session"},
		"a name far away":        {"`a.lua`\n\nwords\n\n```lua\nx = 1\n```\n", "15: this lua block is neither a file nor a console session"},
		"a file no one runs":     {"```console\n$ true\n```\n\n`a.lua`\n\n```lua\nx = 1\n```\n", "17: no command follows that could use a.lua"},
		"a file without an end":  {"`a.lua`\n\n```lua\nx = 1\n", "13: this block has no end"},
		"output of nothing":      {"```console\nhello\n```\n", "11: this console block does not begin with a command"},
		"all is well":            {"`a.lua`\n\n```lua\nx = 1\n```\n\n```console\n$ true\n```\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := parseGuide(start + test.text)
			if got := strings.Join(problems, "\n"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// manual is a text with examples. Blocks refer to its lines.
type manual struct {
	lines    []string
	sections []manualSection
}

type manualSection struct {
	page   string // "docs/scripts.md"
	title  string
	blocks []block
}

// block is a fenced block: its line and its content.
type block struct {
	line       int // of the fence, from 1
	lang, file string
	lines      []string
}

var fileName = regexp.MustCompile("^`([^` ]+)`:?$")

// parseGuide parses a text. Problems have the format "line: problem".
func parseGuide(text string) (doc manual, problems []string) {
	doc.lines = strings.Split(text, "\n")
	doc.sections = []manualSection{{title: "beginning"}}
	name := ""
	for i := 0; i < len(doc.lines); i++ {
		line := doc.lines[i]
		switch title, isTitle := strings.CutPrefix(line, "## "); {
		case isTitle:
			doc.sections = append(doc.sections, manualSection{title: title})
		case strings.HasPrefix(line, "```"):
			end := slices.Index(doc.lines[i+1:], "```")
			if end < 0 {
				return doc, append(problems, fmt.Sprintf("%d: this block has no end", i+1))
			}
			at := &doc.sections[len(doc.sections)-1]
			at.blocks = append(at.blocks, block{line: i + 1, lang: line[3:], file: name, lines: doc.lines[i+1 : i+1+end]})
			i += end + 1
			name = ""
			continue
		}
		if m := fileName.FindStringSubmatch(line); m != nil {
			name = m[1]
		} else if line != "" {
			name = ""
		}
	}
	first := true
	for _, s := range doc.sections {
		problems = append(problems, s.check(first)...)
		first = first && s.files() == nil
	}
	return doc, problems
}

// check returns the blocks that no command uses. Files of the first section are for later sections.
func (s manualSection) check(first bool) (problems []string) {
	for i, b := range s.blocks {
		switch {
		case b.lang == "console":
			if len(b.lines) == 0 || !strings.HasPrefix(b.lines[0], "$ ") {
				problems = append(problems, fmt.Sprintf("%d: this console block does not begin with a command", b.line))
			}
		case b.file == "":
			problems = append(problems, fmt.Sprintf("%d: this %s block is neither a file nor a console session", b.line, b.lang))
		case !first && !slices.ContainsFunc(s.blocks[i:], func(b block) bool { return b.lang == "console" }):
			problems = append(problems, fmt.Sprintf("%d: no command follows that could use %s", b.line, b.file))
		}
	}
	return problems
}

func (s manualSection) files() (files []block) {
	for _, b := range s.blocks {
		if b.file != "" {
			files = append(files, b)
		}
	}
	return files
}

// String returns the text with the current blocks.
func (m manual) String() string {
	var out []string
	at := 0
	for _, s := range m.sections {
		for _, b := range s.blocks {
			out = append(append(out, m.lines[at:b.line]...), b.lines...)
			at = b.line + slices.Index(m.lines[b.line:], "```")
		}
	}
	return strings.Join(append(out, m.lines[at:]...), "\n")
}

// run executes a section in an empty directory.
func (s manualSection) run(t *testing.T, base []block) {
	dir := t.TempDir()
	for _, b := range base {
		b.write(t, dir)
	}
	for i, b := range s.blocks {
		if b.file != "" {
			b.write(t, dir)
			continue
		}
		if b.lang != "console" {
			continue
		}
		var now []string
		for _, c := range b.commands() {
			got := c.run(t, dir)
			if problem := c.compare(got); problem != "" && !*update {
				t.Errorf("%s:%d: $ %s\n%s", s.page, b.line, c.line, problem)
			} else if problem != "" {
				c.output = got
			}
			now = append(append(now, "$ "+c.line), strings.Split(strings.TrimSuffix(c.output, "\n"), "\n")...)
			if c.output == "" {
				now = now[:len(now)-1]
			}
		}
		s.blocks[i].lines = now
	}
}

func (b block) write(t *testing.T, dir string) {
	t.Helper()
	filetest.WriteFile(t, filepath.Join(dir, filepath.FromSlash(b.file)), strings.Join(b.lines, "\n")+"\n")
}

// shown is a command and its output in the guide.
type shown struct{ line, output string }

func (b block) commands() (out []shown) {
	for _, line := range b.lines {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			out = append(out, shown{line: command})
		} else if len(out) > 0 {
			out[len(out)-1].output += line + "\n"
		}
	}
	return out
}

var answered = regexp.MustCompile(`(?m)^Allow\? \(y, yes, n, no\) > (.*)$`)

// run executes the command and returns its output.
func (c shown) run(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", c.line)
	cmd.Dir = dir
	cmd.Env = exampleEnv(dir)
	var out string
	var err error
	if m := answered.FindStringSubmatch(c.output); m != nil {
		out, err = atTerminal(t, cmd, "> ", m[1]+"\n")
	} else {
		var b bytes.Buffer
		cmd.Stdout, cmd.Stderr = &b, &b
		err = cmd.Run()
		out = b.String()
	}
	if failed := regexp.MustCompile(`(?m)^Error: `).MatchString(out); failed != (err != nil) {
		t.Errorf("$ %s ended with %v and printed\n%s", c.line, err, out)
	}
	return took.ReplaceAllString(out, " 1ms")
}

// took matches the duration of a handler at the end of a trace line.
var took = regexp.MustCompile(`(?m) [0-9.]+(µs|ms|s)$`)

// compare describes how the output differs from the guide.
func (c shown) compare(got string) string {
	var pattern strings.Builder
	for line := range strings.Lines(c.output) {
		if line == "...\n" {
			pattern.WriteString(`(?:.*\n)*?`)
		} else {
			pattern.WriteString(regexp.QuoteMeta(line))
		}
	}
	if regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(got) {
		return ""
	}
	return fmt.Sprintf("prints\n%s\nnot what the guide shows:\n%s", got, c.output)
}
