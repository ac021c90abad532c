// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"github.com/moonhelm/moonhelm/chart/unittest"
	"github.com/moonhelm/moonhelm/internal/lines"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// place returns the line of a template that rendered what an assertion is about, as far as it can be
// found.
func (r *testRun) place(s target, a *assertion) unittest.Place {
	f := r.out.templates[s.name]
	if f == nil {
		return unittest.Place{}
	}
	at := unittest.Place{File: r.out.root + "/" + s.name}
	if len(s.docs) == 0 {
		return at
	}
	d := s.docs[0]
	line := d.line
	if inner := yaml.Line(yaml.Root([]byte(d.text)), a.keys...); inner > 0 {
		line += inner - 1
	}
	at.Line = lines.New(string(f.Data), r.out.texts[s.name]).Source(line)
	return at
}
