// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"path"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// crds checks the files in crds/, which are applied without rendering.
func (l *linter) crds() {
	const dir = chart.DirCRDs
	if l.files[dir] != nil {
		l.add(Error, dir, 0, "is a file, must be a directory")
	}
	for _, f := range l.filesIn(dir) {
		switch path.Ext(f.Name) {
		case ".yaml", ".yml", ".json":
			l.crd(f)
		}
	}
}

func (l *linter) crd(f *chart.File) {
	text := string(f.Data)
	docs := documents(text)
	for i := range docs {
		d := &docs[i]
		h, err := d.head()
		if err != nil {
			hint := ""
			if strings.Contains(d.text, "{{") {
				hint = " (files in crds/ are not templates; to render this file, move it to templates/)"
			}
			l.add(Error, f.Name, err.line, "unable to parse YAML: %s%s%s", err.text, hint, excerpt(f, err.line))
			continue
		}
		if h == nil {
			continue
		}
		if !strings.HasPrefix(h.APIVersion, "apiextensions.k8s.io") {
			l.add(Error, f.Name, d.lineOf("apiVersion"), "apiVersion is not in 'apiextensions.k8s.io'")
		}
		if h.Kind != "CustomResourceDefinition" {
			l.add(Error, f.Name, d.lineOf("kind"), "object kind is not 'CustomResourceDefinition'")
		}
		if a := oldAPIOf(h, l.in.Kube); a != nil {
			l.add(a.severity(l.in.Kube, l.in.Schemas), f.Name, d.lineOf("apiVersion"), "%s", a.sentence(h.Kind))
		}
		if strings.Contains(d.text, "{{") {
			l.directives(f, d)
		}
		l.crdFields(f, d)
	}
}

// crdFields reports the fields of a definition that do not match the schemas.
func (l *linter) crdFields(f *chart.File, d *document) {
	var object map[string]any
	if l.in.Schemas == nil || yaml.Unmarshal([]byte(d.text), &object) != nil {
		return
	}
	problems, _ := l.in.Schemas.check(object)
	for _, p := range problems {
		l.add(Error, f.Name, d.first+max(yaml.FieldLine(d.node(), p.Field), 1)-1, "%s", p)
	}
}

// directives warns of template directives, which have no effect in crds/. It ignores them in
// descriptions.
func (l *linter) directives(f *chart.File, d *document) {
	for _, line := range directiveLines(d.node(), 0) {
		l.add(Warning, f.Name, d.first+line-1, "a template directive in crds/ is not executed; move the file to "+
			"templates/, or replace the directive by its result")
	}
}

// directiveLines returns the lines of comments and scalars that are directives.
func directiveLines(n *yaml.Node, depth int) []int {
	if n == nil || depth > 1000 {
		return nil
	}
	var lines []int
	for _, comment := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		if isDirective(strings.TrimLeft(comment, "# \t")) {
			lines = append(lines, n.Line)
			break
		}
	}
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 && isDirective(strings.TrimSpace(n.Value)) {
			lines = append(lines, n.Line)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			lines = append(lines, directiveLines(n.Content[i], depth+1)...)
			if n.Content[i].Value != "description" {
				lines = append(lines, directiveLines(n.Content[i+1], depth+1)...)
			}
		}
	default:
		for _, c := range n.Content {
			lines = append(lines, directiveLines(c, depth+1)...)
		}
	}
	return lines
}

// isDirective reports whether text begins like a directive of a chart's template.
func isDirective(text string) bool {
	rest, ok := strings.CutPrefix(text, "{{")
	if !ok {
		return false
	}
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "-"), " ")
	for _, word := range []string{".Values", ".Release", ".Chart", ".Capabilities", ".Files", ".Template", "$.",
		"include ", "template ", "if ", "with ", "range ", "end", "else", "define ", "tpl ", "toYaml ", "/*"} {
		if strings.HasPrefix(rest, word) {
			return true
		}
	}
	return false
}
