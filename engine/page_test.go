// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "accept what the examples of docs/template-functions.md give now")

// TestTemplateFunctions renders the examples of docs/template-functions.md, compares the output
// with the page, and checks that the page has every function.
func TestTemplateFunctions(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second: it makes keys of RSA and hashes of passwords")
	}
	path := filepath.Join("..", "docs", "template-functions.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, values, _ := strings.Cut(string(data), "```yaml\n")
	values, _, ok := strings.Cut(values, "```\n")
	if !ok {
		t.Fatal("the page has no block with the values of its examples")
	}
	listed := map[string]bool{}
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		// A | within a cell is written \|.
		cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00"), "|")
		if !strings.HasPrefix(line, "| `") || len(cells) != 4 {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[0], -1) {
			if listed[m[1]] {
				t.Errorf("line %d: %s is there twice", i+1, m[1])
			}
			listed[m[1]] = true
		}
		name, _, _ := strings.Cut(strings.Trim(cells[0], " `"), "`")
		example := strings.ReplaceAll(strings.Trim(cells[2], " `"), "\x00", "|")
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "os") && runtime.GOOS == "windows" {
				t.Skip("the page shows what it gives elsewhere")
			}
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(example) {
				t.Errorf("the example %s does not call %s", example, name)
			}
			got := cell(renderExample(t, values, example))
			if want := strings.ReplaceAll(strings.TrimSpace(cells[3]), "\x00", `\|`); got != want && !*update {
				t.Errorf("%s gives %s, want %s", example, got, want)
			}
			cells[3] = " " + got + " "
			lines[i] = "|" + strings.ReplaceAll(strings.Join(cells, "|"), "\x00", `\|`) + "|"
		})
	}
	for name := range functions(&Input{}) {
		if !listed[name] {
			t.Errorf("docs/template-functions.md does not have %s", name)
		}
	}
	for name := range listed {
		if functions(&Input{})[name] == nil {
			t.Errorf("docs/template-functions.md has %s, which templates cannot call", name)
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func renderExample(t *testing.T, values, example string) string {
	t.Helper()
	c := tree(t, "web", map[string]string{"values.yaml": values, "templates/example.txt": example})
	c.Metadata.AppVersion = "1.27"
	out, err := Render(context.Background(), input(t, c))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range out.Files {
		return f.Content
	}
	return ""
}

// cell returns an output as code in a table, quoted if it has characters that a line of code
// does not show.
func cell(output string) string {
	if output == "" || strings.TrimSpace(output) != output || strings.ContainsAny(output, "\n\t") {
		output = strconv.Quote(output)
	}
	return "`" + strings.ReplaceAll(output, "|", `\|`) + "`"
}
