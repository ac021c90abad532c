// SPDX-License-Identifier: Apache-2.0

package chart

import "strings"

// DirScripts is the directory of a chart's scripts, and FileScript their entry point.
const (
	DirScripts = DirExt + "/lua"
	FileScript = DirScripts + "/chart.lua"
)

// HasScripts reports whether c or a chart below it has a [FileScript].
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

// Scripts returns the parts of the tree that its scripts need: metadata and the files in
// ext/. A chart without such files is in it with its name, version and type, because
// scripts may refer to it. Scripts returns nil if no chart of the tree has scripts.
func (c *Chart) Scripts() *Chart {
	if !c.HasScripts() {
		return nil
	}
	return c.scriptTree()
}

func (c *Chart) scriptTree() *Chart {
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
		below = append(below, d.scriptTree())
	}
	out.SetDependencies(below...)
	return out
}
