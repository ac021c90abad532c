// SPDX-License-Identifier: Apache-2.0

package coverage

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"
)

// sample has two files: the second has a line that was not run and a branch that was not taken.
func sample() *Profile {
	var p Profile
	p.Add("web/templates/a.yaml", "web/templates/a.yaml", "kind: A\n", Counts{Lines: map[int]int64{1: 2}})
	b := Counts{Lines: map[int]int64{1: 2, 2: 2, 3: 0},
		Branches: []Branch{{Line: 2, Offset: 4, Name: "if"}, {Line: 2, Offset: 4, Name: "else", Hits: 2}}}
	p.Add("web/templates/b.yaml", "", "kind: <B>\n{{ if .x }}\nx: 1\n{{ end }}\n", b)
	return &p
}

func TestAdd(t *testing.T) {
	p := sample()
	p.Add("web/templates/b.yaml", "", "", Counts{Lines: map[int]int64{3: 1, 4: 0},
		Branches: []Branch{{Line: 2, Offset: 4, Name: "if", Hits: 1}, {Line: 4, Offset: 1, Name: "with"}}})
	if got, want := p.Totals(), (Totals{4, 5, 2, 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if files := p.Files(); len(files) != 2 || files[1].Lines[3] != 1 {
		t.Errorf("got %+v", files)
	}
	if got := (Totals{}).LinePercent(); got != 100 {
		t.Errorf("no lines: %g%%, want 100", got)
	}
}

func TestWriteTable(t *testing.T) {
	var b strings.Builder
	if err := sample().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	want := `FILE                  LINES         BRANCHES     MISSING
web/templates/a.yaml  100.0% (1/1)  -
web/templates/b.yaml  66.7% (2/3)   50.0% (1/2)  2 if, 3
All files             75.0% (3/4)   50.0% (1/2)
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}

func TestWriteLcov(t *testing.T) {
	var b strings.Builder
	if err := sample().WriteLcov(&b); err != nil {
		t.Fatal(err)
	}
	want := `TN:
SF:web/templates/a.yaml
BRF:0
BRH:0
DA:1,2
LF:1
LH:1
end_of_record
TN:
SF:web/templates/b.yaml
BRDA:2,0,else,2
BRDA:2,0,if,0
BRF:2
BRH:1
DA:1,2
DA:2,2
DA:3,0
LF:3
LH:2
end_of_record
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}

func TestWriteCobertura(t *testing.T) {
	var b strings.Builder
	if err := sample().WriteCobertura(&b, time.UnixMilli(5)); err != nil {
		t.Fatal(err)
	}
	var doc coberturaCoverage
	if err := xml.Unmarshal([]byte(b.String()), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.LinesCovered != 3 || doc.LinesValid != 4 || doc.BranchesCovered != 1 || doc.LineRate != "0.7500" || doc.Timestamp != 5 {
		t.Errorf("got %+v", doc)
	}
	class := doc.Packages[0].Classes[1]
	if l := class.Lines[1]; class.File != "web/templates/b.yaml" || !l.Branch || l.Condition != "50% (1/2)" || l.Hits != 2 {
		t.Errorf("got %+v", class)
	}
}

func TestWriteHTML(t *testing.T) {
	var b strings.Builder
	if err := sample().WriteHTML(&b, "Coverage"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<tr class="missed"><td>3</td><td>0×</td><td>x: 1</td>`,
		`<tr class="partly"><td>2</td><td>2×</td><td>{{ if .x }}</td><td class="note">not taken: if</td>`,
		`<tr class="run"><td>1</td><td>2×</td><td>kind: &lt;B&gt;</td>`, `<tr class=""><td>4</td><td></td>`, "75.0% (3/4)",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

func TestHTMLOpensWhatIsMissing(t *testing.T) {
	var p Profile
	lines := map[int]int64{1: 1}
	p.Add("all.yaml", "", "x", Counts{Lines: lines})
	p.Add("branch.yaml", "", "x", Counts{Lines: lines, Branches: []Branch{{Line: 1, Name: "else"}}})
	p.Add("line.yaml", "", "x", Counts{Lines: map[int]int64{1: 0}})
	var b strings.Builder
	if err := p.WriteHTML(&b, "Coverage"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<details id="f0">`, `<details id="f1" open>`, `<details id="f2" open>`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
