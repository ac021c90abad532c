// SPDX-License-Identifier: Apache-2.0

package show

import (
	"path"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/markdown"
	"github.com/moonhelm/moonhelm/internal/term"
)

// maxRule is the maximum width of a heading's rule.
const maxRule = 100

// screenAll returns all parts of a chart for a terminal, each below a heading.
func screenAll(s term.Streams, c *chart.Chart) (string, error) {
	definition, err := showChart(c)
	if err != nil {
		return "", err
	}
	values, err := showValues(c, "")
	if err != nil {
		return "", err
	}
	about, err := screenReadme(s, c)
	if err != nil {
		return "", err
	}
	name := "README"
	if f := readme(c); f != nil {
		name = f.Name
	}
	var b strings.Builder
	part := func(title, text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			b.WriteString(heading(s, title) + "\n" + text + "\n\n")
		}
	}
	part(chart.FileMetadata, term.Safe(definition))
	part(chart.FileValues, term.Safe(values))
	part(name, about)
	for _, crd := range c.CRDs() {
		part(crd.Name, term.Safe(string(crd.Data)))
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func heading(s term.Streams, title string) string {
	columns := min(term.Width(s.Out), maxRule)
	title = term.Fit(term.SafeLine(title), columns-len("-- "))
	st := s.Style(s.Out)
	rule := strings.Repeat("─", max(columns-displaywidth.String(title)-len("--  "), 0))
	return st.Dim("── ") + st.Bold(title) + st.Dim(" "+rule)
}

// screenReadme returns the README for a terminal.
func screenReadme(s term.Streams, c *chart.Chart) (string, error) {
	f := readme(c)
	if f == nil {
		return "", nil
	}
	if !strings.EqualFold(path.Ext(f.Name), ".md") {
		return term.Safe(string(f.Data)) + "\n", nil
	}
	return markdown.Render(f.Data, markdown.Options{Columns: term.Width(s.Out), Style: s.Style(s.Out)}), nil
}
