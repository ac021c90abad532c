// SPDX-License-Identifier: Apache-2.0

package coverage

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// path returns the name of a file in reports: its path on disk, or else its name.
func (f *File) path() string {
	if f.Path != "" {
		return f.Path
	}
	return f.Name
}

// WriteLcov writes a tracefile of lcov, which editors and CI systems read.
func (p *Profile) WriteLcov(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, f := range p.Files() {
		fmt.Fprintf(b, "TN:\nSF:%s\n", oneLine(f.path()))
		block, last := -1, [2]int{}
		for i, br := range f.Branches {
			if at := [2]int{br.Line, br.Offset}; i == 0 || at != last {
				block, last = block+1, at
			}
			fmt.Fprintf(b, "BRDA:%d,%d,%s,%s\n", br.Line, block, br.Name, f.taken(br))
		}
		hit, total := f.BranchTotals()
		fmt.Fprintf(b, "BRF:%d\nBRH:%d\n", total, hit)
		for _, line := range slices.Sorted(maps.Keys(f.Lines)) {
			fmt.Fprintf(b, "DA:%d,%d\n", line, f.Lines[line])
		}
		hit, total = f.LineTotals()
		fmt.Fprintf(b, "LF:%d\nLH:%d\nend_of_record\n", total, hit)
	}
	return b.Flush()
}

// taken returns how often a branch was taken, or "-" if its statement has not run.
func (f *File) taken(b Branch) string {
	if f.Lines[b.Line] == 0 {
		return "-"
	}
	return fmt.Sprint(b.Hits)
}

func oneLine(text string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(text) }

type (
	coberturaCoverage struct {
		XMLName         xml.Name           `xml:"coverage"`
		LineRate        string             `xml:"line-rate,attr"`
		BranchRate      string             `xml:"branch-rate,attr"`
		LinesCovered    int                `xml:"lines-covered,attr"`
		LinesValid      int                `xml:"lines-valid,attr"`
		BranchesCovered int                `xml:"branches-covered,attr"`
		BranchesValid   int                `xml:"branches-valid,attr"`
		Complexity      string             `xml:"complexity,attr"`
		Version         string             `xml:"version,attr"`
		Timestamp       int64              `xml:"timestamp,attr"`
		Sources         []string           `xml:"sources>source"`
		Packages        []coberturaPackage `xml:"packages>package"`
	}
	coberturaPackage struct {
		Name       string           `xml:"name,attr"`
		LineRate   string           `xml:"line-rate,attr"`
		BranchRate string           `xml:"branch-rate,attr"`
		Complexity string           `xml:"complexity,attr"`
		Classes    []coberturaClass `xml:"classes>class"`
	}
	coberturaClass struct {
		Name       string          `xml:"name,attr"`
		File       string          `xml:"filename,attr"`
		LineRate   string          `xml:"line-rate,attr"`
		BranchRate string          `xml:"branch-rate,attr"`
		Complexity string          `xml:"complexity,attr"`
		Methods    string          `xml:"methods"`
		Lines      []coberturaLine `xml:"lines>line"`
	}
	coberturaLine struct {
		Number    int    `xml:"number,attr"`
		Hits      int64  `xml:"hits,attr"`
		Branch    bool   `xml:"branch,attr"`
		Condition string `xml:"condition-coverage,attr,omitempty"`
	}
)

// WriteCobertura writes the XML of Cobertura, which GitLab, Jenkins and Azure read. A package is a
// directory of templates.
func (p *Profile) WriteCobertura(w io.Writer, at time.Time) error {
	sum := p.Totals()
	doc := coberturaCoverage{LineRate: rate(sum.HitLines, sum.Lines), BranchRate: rate(sum.HitBranches, sum.Branches),
		LinesCovered: sum.HitLines, LinesValid: sum.Lines, BranchesCovered: sum.HitBranches, BranchesValid: sum.Branches,
		Complexity: "0", Version: "1", Timestamp: at.UnixMilli(), Sources: []string{"."}}
	totals := map[string]Totals{}
	for _, f := range p.Files() {
		dir := path.Dir(f.Name)
		i := slices.IndexFunc(doc.Packages, func(p coberturaPackage) bool { return p.Name == dir })
		if i < 0 {
			i = len(doc.Packages)
			doc.Packages = append(doc.Packages, coberturaPackage{Name: dir, Complexity: "0"})
		}
		pkg := &doc.Packages[i]
		pkg.Classes = append(pkg.Classes, f.class())
		totals[dir] = totals[dir].add(f)
		pkg.LineRate = rate(totals[dir].HitLines, totals[dir].Lines)
		pkg.BranchRate = rate(totals[dir].HitBranches, totals[dir].Branches)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (f *File) class() coberturaClass {
	t := Totals{}.add(f)
	c := coberturaClass{Name: path.Base(f.Name), File: f.path(), Complexity: "0",
		LineRate: rate(t.HitLines, t.Lines), BranchRate: rate(t.HitBranches, t.Branches)}
	for _, number := range slices.Sorted(maps.Keys(f.Lines)) {
		l := coberturaLine{Number: number, Hits: f.Lines[number]}
		hit, total := 0, 0
		for _, b := range f.Branches {
			if b.Line == number {
				total++
				hit += min(1, int(b.Hits))
			}
		}
		if total > 0 {
			l.Branch = true
			l.Condition = fmt.Sprintf("%d%% (%d/%d)", int(percent(hit, total)), hit, total)
		}
		c.Lines = append(c.Lines, l)
	}
	return c
}

func rate(hit, total int) string { return fmt.Sprintf("%.4f", percent(hit, total)/100) }
