// SPDX-License-Identifier: Apache-2.0

package coverage

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Totals are the numbers of lines and branches of files.
type Totals struct{ HitLines, Lines, HitBranches, Branches int }

// Totals returns the numbers of all files.
func (p *Profile) Totals() (t Totals) {
	for _, f := range p.Files() {
		t = t.add(f)
	}
	return t
}

func (t Totals) add(f *File) Totals {
	hit, total := f.LineTotals()
	hitBranches, branches := f.BranchTotals()
	return Totals{t.HitLines + hit, t.Lines + total, t.HitBranches + hitBranches, t.Branches + branches}
}

// LinePercent returns the percentage of lines that were run: 100 if there are none.
func (t Totals) LinePercent() float64 { return percent(t.HitLines, t.Lines) }

// BranchPercent returns the percentage of branches that were taken: 100 if there are none.
func (t Totals) BranchPercent() float64 { return percent(t.HitBranches, t.Branches) }

func percent(hit, total int) float64 {
	if total == 0 {
		return 100
	}
	return 100 * float64(hit) / float64(total)
}

// WriteTable writes a line for each file with what was run, and the lines that were not.
func (p *Profile) WriteTable(w io.Writer) error {
	rows := [][]string{{"FILE", "LINES", "BRANCHES", "MISSING"}}
	var sum Totals
	for _, f := range p.Files() {
		t := Totals{}.add(f)
		sum = sum.add(f)
		rows = append(rows, t.row(f.Name, f.missing()))
	}
	rows = append(rows, sum.row("All files", ""))
	widths := make([]int, 3)
	for _, r := range rows {
		for i := range widths {
			widths[i] = max(widths[i], len(r[i]))
		}
	}
	for _, r := range rows {
		line := fmt.Sprintf("%-*s  %-*s  %-*s  %s", widths[0], r[0], widths[1], r[1], widths[2], r[2], r[3])
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

func (t Totals) row(name, missing string) []string {
	return []string{name, share(t.HitLines, t.Lines), share(t.HitBranches, t.Branches), missing}
}

func share(hit, total int) string {
	if total == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%% (%d/%d)", percent(hit, total), hit, total)
}

// missing returns the lines that were not run, and the branches that were not taken of those that
// were: "3-5, 9, 12 else".
func (f *File) missing() string {
	var out []string
	coverable := slices.Sorted(maps.Keys(f.Lines))
	for i := 0; i < len(coverable); {
		if f.Lines[coverable[i]] > 0 {
			out = append(out, f.notTaken(coverable[i])...)
			i++
			continue
		}
		from := i
		for i < len(coverable) && f.Lines[coverable[i]] == 0 {
			i++
		}
		text := fmt.Sprint(coverable[from])
		if last := coverable[i-1]; last != coverable[from] {
			text += fmt.Sprintf("-%d", last)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// notTaken returns the branches of a line that were not taken.
func (f *File) notTaken(line int) (out []string) {
	for _, b := range f.Branches {
		if b.Line == line && b.Hits == 0 {
			out = append(out, fmt.Sprintf("%d %s", line, b.Name))
		}
	}
	return out
}
