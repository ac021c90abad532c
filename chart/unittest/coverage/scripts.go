// SPDX-License-Identifier: Apache-2.0

package coverage

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/moonhelm/moonhelm/chart"
)

// ScriptLines counts the lines of charts' scripts that were run. The zero value is empty. It is safe
// for concurrent use.
type ScriptLines struct {
	mu    sync.Mutex
	files map[scriptFile]map[int]int64
}

// scriptFile is a file of a chart, which is known by its path in the tree.
type scriptFile struct{ chart, file string }

// Count adds to the count of a line, which may be by 0: a line that can be run. It is a
// [github.com/moonhelm/moonhelm/script.Host.Coverage].
func (l *ScriptLines) Count(chart, file string, line int, hits int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := scriptFile{chart, file}
	if l.files == nil {
		l.files = map[scriptFile]map[int]int64{}
	}
	if l.files[at] == nil {
		l.files[at] = map[int]int64{}
	}
	l.files[at][line] += hits
}

// AddTo adds the counts of the scripts of root, whose directory is dir, and of its subcharts in
// directories, except those of which nothing was counted. under is the path in the profile below which root
// is, "" for none.
func (l *ScriptLines) AddTo(p *Profile, root *chart.Chart, dir, under string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	Walk(root, dir, func(c *chart.Chart, dir string, names []string) {
		for _, f := range c.Files {
			if !strings.HasPrefix(f.Name, chart.DirScripts+"/") || path.Ext(f.Name) != ".lua" {
				continue
			}
			for _, name := range names {
				if counts := l.files[scriptFile{name, f.Name}]; counts != nil {
					p.Add(path.Join(under, names[0], f.Name), filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data),
						Counts{Lines: counts})
				}
			}
		}
	})
}

// Walk calls fn with root, whose directory is dir, and with the charts below it that are in directories.
// names are the paths of a chart from the root chart, first that without aliases: there are several if
// dependencies have aliases.
func Walk(root *chart.Chart, dir string, fn func(c *chart.Chart, dir string, names []string)) {
	walk(root, dir, []string{root.Name()}, fn)
}

func walk(c *chart.Chart, dir string, names []string, fn func(c *chart.Chart, dir string, names []string)) {
	fn(c, dir, names)
	for _, sub := range c.Dependencies() {
		in := chart.DirCharts
		if sub.FromLibrary {
			in = chart.DirLibrary
		}
		subDir := filepath.Join(dir, in, sub.Name())
		if info, err := os.Stat(subDir); err != nil || !info.IsDir() {
			continue
		}
		var subNames []string
		for _, name := range names {
			for _, alias := range append([]string{sub.Name()}, aliases(c, sub.Name())...) {
				subNames = append(subNames, path.Join(name, in, alias))
			}
		}
		walk(sub, subDir, subNames, fn)
	}
}

// aliases returns the aliases of a dependency.
func aliases(of *chart.Chart, name string) (out []string) {
	for _, d := range of.Metadata.Dependencies {
		if d != nil && d.Name == name && d.Alias != "" {
			out = append(out, d.Alias)
		}
	}
	return out
}
