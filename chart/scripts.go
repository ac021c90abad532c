// SPDX-License-Identifier: Apache-2.0

package chart

import "strings"

// DirScripts is where a chart keeps its scripts, and FileScript the one that
// loads with it.
const (
	DirScripts = DirExt + "/lua"
	FileScript = DirScripts + "/chart.lua"
)

// HasScripts reports whether c, or a chart below it, has a [FileScript].
func (c *Chart) HasScripts() bool {
	for _, f := range c.Files {
		if f.Name == FileScript {
			return true
		}
	}
	for _, d := range c.dependencies {
		if d.HasScripts() {
			return true
		}
	}
	return false
}

// Scripts is the part of the tree that its scripts need: metadata and the files
// of ext/. Of charts with nothing there it has the name and the version: scripts
// may name them. It is nil where no chart has scripts.
func (c *Chart) Scripts() *Chart {
	if !c.HasScripts() {
		return nil
	}
	return c.scripts()
}

func (c *Chart) scripts() *Chart {
	out := &Chart{Metadata: c.Metadata, FromLibrary: c.FromLibrary, Unaliased: c.Unaliased}
	for _, f := range c.Files {
		if strings.HasPrefix(f.Name, DirExt+"/") {
			out.Files = append(out.Files, f)
		}
	}
	if len(out.Files) == 0 && c.Metadata != nil {
		out.Metadata = &Metadata{Name: c.Metadata.Name, Version: c.Metadata.Version, Type: c.Metadata.Type}
	}
	var below []*Chart
	for _, d := range c.dependencies {
		below = append(below, d.scripts())
	}
	out.SetDependencies(below...)
	return out
}
