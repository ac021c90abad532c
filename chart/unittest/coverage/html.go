// SPDX-License-Identifier: Apache-2.0

package coverage

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed page.html
var page string

// htmlFile is a file in the page.
type htmlFile struct {
	ID, Name, Lines, Branches string
	Percent                   int
	Source                    []htmlLine
}

// htmlLine is a line of a file. Class is "run", "missed", "partly" or "".
type htmlLine struct {
	Number            int
	Class, Hits, Text string
	Note              string
}

// WriteHTML writes a page with a table of the files and their sources, with the lines that were not
// run marked. The page needs no other files.
func (p *Profile) WriteHTML(w io.Writer, title string) error {
	t, err := template.New("page").Parse(page)
	if err != nil {
		return err
	}
	sum := p.Totals()
	data := struct {
		Title           string
		Lines, Branches string
		Percent         int
		Files           []htmlFile
	}{Title: title, Lines: share(sum.HitLines, sum.Lines), Branches: share(sum.HitBranches, sum.Branches),
		Percent: int(sum.LinePercent())}
	for i, f := range p.Files() {
		totals := Totals{}.add(f)
		data.Files = append(data.Files, htmlFile{ID: fmt.Sprintf("f%d", i), Name: f.Name,
			Lines: share(totals.HitLines, totals.Lines), Branches: share(totals.HitBranches, totals.Branches),
			Percent: int(totals.LinePercent()), Source: f.source()})
	}
	return t.Execute(w, data)
}

// source returns the lines of the file with what was run of them.
func (f *File) source() []htmlLine {
	lines := strings.Split(strings.TrimSuffix(f.Text, "\n"), "\n")
	out := make([]htmlLine, len(lines))
	for i, text := range lines {
		l := htmlLine{Number: i + 1, Text: strings.TrimSuffix(text, "\r")}
		if hits, ok := f.Lines[i+1]; ok {
			l.Class, l.Hits = "run", fmt.Sprintf("%d×", hits)
			if hits == 0 {
				l.Class = "missed"
			} else if missing := f.notTaken(i + 1); len(missing) > 0 {
				l.Class = "partly"
				l.Note = "not taken: " + strings.ReplaceAll(strings.Join(missing, ", "), fmt.Sprintf("%d ", i+1), "")
			}
		}
		out[i] = l
	}
	return out
}
