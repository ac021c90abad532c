// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"path"
	"strings"
	"text/template/parse"

	"github.com/moonhelm/moonhelm/chart"
)

// library finds what a library chart's template holds beside definitions: it
// is ignored, whatever its author hopes.
func (l *linter) library(f *chart.File) {
	if path.Base(f.Name) == chart.FileNotes {
		l.add(Info, f.Name, 0, "a library chart is not installed: its notes are never shown")
		return
	}
	t := parse.New(f.Name)
	t.Mode = parse.SkipFuncCheck
	tree, err := t.Parse(string(f.Data), "", "", map[string]*parse.Tree{})
	if err != nil || tree.Root == nil {
		return // rendering tells, and tells it better
	}
	for _, n := range tree.Root.Nodes {
		text := n.String()
		if strings.TrimSpace(text) == "" {
			continue
		}
		at := int(n.Position())
		if _, ok := n.(*parse.TextNode); ok {
			at += len(text) - len(strings.TrimLeft(text, " \t\r\n"))
		}
		l.add(Info, f.Name, lineAt(string(f.Data), min(at, len(f.Data))), "only {{define}} has an effect in a library chart, what stands outside is ignored")
		return
	}
}
