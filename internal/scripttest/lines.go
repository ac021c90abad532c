// SPDX-License-Identifier: Apache-2.0

package scripttest

import (
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/unittest/coverage"
)

// lines count the lines of scripts that a suite has run.
type lines struct {
	suite *Suite
	mu    sync.Mutex
	files map[chartFile]map[int]int64
}

// chartFile is a file of a chart, which is known by its path in the tree.
type chartFile struct{ chart, file string }

func newLines(s *Suite) *lines { return &lines{suite: s, files: map[chartFile]map[int]int64{}} }

// add is a [script.Host.Coverage].
func (l *lines) add(chartPath, file string, line int, hits int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := chartFile{chartPath, file}
	if l.files[at] == nil {
		l.files[at] = map[int]int64{}
	}
	l.files[at][line] += hits
}

// addTo adds the counts of the scripts of the chart and its subcharts to a profile. Files of
// tests are not among them.
func (l *lines) addTo(p *coverage.Profile) {
	if p == nil {
		return
	}
	l.suite.chart.Walk(func(c *chart.Chart) {
		for _, f := range c.Files {
			if !strings.HasPrefix(f.Name, chart.DirScripts+"/") || path.Ext(f.Name) != ".lua" {
				continue
			}
			counts := l.files[chartFile{c.FullPath(), f.Name}]
			if counts == nil {
				continue // nothing has loaded it
			}
			disk := ""
			if below, ok := strings.CutPrefix(c.FullPath()+"/"+f.Name, l.suite.chart.FullPath()+"/"); ok {
				disk = filepath.Join(l.suite.dir, filepath.FromSlash(below))
			}
			p.Add(path.Join(l.suite.o.Under, c.FullPath(), f.Name), disk, string(f.Data), coverage.Counts{Lines: counts})
		}
	})
}
