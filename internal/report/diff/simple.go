// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"io"
	"strings"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plan"
)

// simple prints a line for each object, and a summary.
func (d Diff) simple(s term.Streams, o Options) error {
	var b strings.Builder
	st := s.Style(s.Out)
	list := d.entries(o)
	for _, e := range list {
		b.WriteString(paint(st, e)(d.heading(e.Ref)+" "+e.planned()) + "\n")
	}
	b.WriteString(summary("Plan", list) + "\n")
	_, err := io.WriteString(s.Out, b.String())
	return err
}

// planned describes the change of an object that is still to be made.
func (e entry) planned() string {
	switch e.change {
	case added:
		return "to be added."
	case removed:
		return "to be removed."
	case suppressed:
		return "to be changed, but diff is empty after suppression."
	}
	return "to be changed."
}

// summary returns the number of changed objects and hooks.
func summary(title string, list []entry) string {
	count := map[string]int{}
	for _, e := range list {
		count[e.change]++
	}
	return fmt.Sprintf("%s: %d to add, %d to change, %d to destroy.",
		title, count[added], count[modified]+count[suppressed], count[removed])
}

// summaryWithKept returns the summary with the number of objects that leave the release and stay.
func (d Diff) summaryWithKept(title string, list []entry) string {
	text, kept := summary(title, list), len(d.kept())
	if kept == 0 {
		return text
	}
	return fmt.Sprintf("%s, %d to keep.", strings.TrimSuffix(text, "."), kept)
}

// kept returns the objects that leave the release and stay.
func (d Diff) kept() []Object {
	var out []Object
	for _, o := range d.Objects {
		if o.Action == plan.Keep && !o.Definition {
			out = append(out, o)
		}
	}
	return out
}
