// SPDX-License-Identifier: Apache-2.0

package chart

import "strings"

// DirScripts is where a chart keeps its scripts, and FileScript the one that
// loads with it.
const (
	DirScripts = DirExt + "/lua"
	FileScript = DirScripts + "/chart.lua"
)

// HasScripts tells whether c, or a chart below it, has a script that loads with
// its chart.
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
// of ext/. Charts with nothing there are left out, unless something below them
// has. It is nil where no chart has scripts.
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
	var below []*Chart
	for _, d := range c.dependencies {
		if sub := d.scripts(); len(sub.Files)+len(sub.dependencies) > 0 {
			below = append(below, sub)
		}
	}
	out.SetDependencies(below...)
	return out
}
