// SPDX-License-Identifier: Apache-2.0

package callers

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/callers.md again")

const (
	tableBegin = "<!-- table: written by test/callers, go test -update -->\n"
	tableEnd   = "<!-- end of table -->"
)

// TestDocs compares the table of docs/callers.md with the headers of the scripts, which
// TestCallers compares with the results.
func TestDocs(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "callers.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(page), tableBegin)
	old, after, ended := strings.Cut(rest, tableEnd)
	if !begun || !ended {
		t.Fatalf("%s has no place for the table", path)
	}
	table := table(cells(t))
	if old == table {
		return
	}
	if !*update {
		t.Fatalf("the table of %s is not what the scripts say; go test -run TestDocs -update writes it:\n%s", path, table)
	}
	if err := os.WriteFile(path, []byte(before+tableBegin+table+tableEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestOursPassesWhatHelmPasses checks the rule of the table.
func TestOursPassesWhatHelmPasses(t *testing.T) {
	for _, c := range cells(t) {
		helm4, helm3 := c.fails["helm4"], c.fails["helm3"]
		if reason := c.fails["ours"]; reason != "" && (helm4 == "" || helm3 == "") {
			t.Errorf("%s: ours fails (%s), and one of Helm's does not", c.name, reason)
		}
	}
}

// table returns the table of the page in Markdown.
func table(all []cell) string {
	var b strings.Builder
	b.WriteString("\n| caller | what it runs | Moonhelm | Helm 4.3.1 | Helm 3.22.0 | |\n|---|---|---|---|---|---|\n")
	caller := ""
	for _, c := range all {
		shown := ""
		if c.caller != caller {
			shown, caller = c.caller, c.caller
			if c.source != "" {
				shown += " ([source](" + c.source + "))"
			}
		}
		command := strings.ReplaceAll(c.command, "|", `\|`)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", shown, command,
			c.works("ours"), c.works("helm4"), c.works("helm3"), c.remarks())
	}
	b.WriteString("\n")
	return b.String()
}

func (c cell) works(helm string) string {
	if c.fails[helm] != "" {
		return "no"
	}
	if helm == "ours" && len(c.set) > 0 {
		return "yes, with `" + strings.Join(c.set, " ") + "`"
	}
	return "yes"
}

// remarks returns the reasons why Helm fails, and the notes.
func (c cell) remarks() string {
	var all []string
	if c.fails["helm4"] != "" && c.fails["helm4"] == c.fails["helm3"] {
		all = append(all, "Helm: "+c.fails["helm4"])
	} else {
		for _, h := range []struct{ name, title string }{{"ours", "Moonhelm"}, {"helm4", "Helm 4"}, {"helm3", "Helm 3"}} {
			if c.fails[h.name] != "" {
				all = append(all, h.title+": "+c.fails[h.name])
			}
		}
	}
	if c.remark != "" {
		all = append(all, c.remark)
	}
	return strings.Join(all, "; ")
}
