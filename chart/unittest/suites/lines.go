// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// noManifest is what is found in a template that renders nothing.
const noManifest = "no manifest found"

// section returns a title and the lines of text below it, with the indent that titles have.
func section(title, text string) []string {
	out := []string{title}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		out = append(out, "\t"+line)
	}
	return out
}

// errorLines describe an error of an assertion.
func errorLines(format string, args ...any) []string {
	return section("Error:", fmt.Sprintf(format, args...))
}

// expected returns "Expected to equal:" or "Expected NOT to equal:" with text below it.
func expected(negated bool, what, text string) []string {
	return section(expectedTitle(negated, what), text)
}

func expectedTitle(negated bool, what string) string {
	if negated {
		return "Expected NOT " + what + ":"
	}
	return "Expected " + what + ":"
}

// at returns the lines that say which document and which of the values of a path is meant. A
// negative value is left out.
func at(d document, value int) []string {
	out := []string{fmt.Sprintf("DocumentIndex:\t%d", d.index)}
	if value >= 0 {
		out = append(out, fmt.Sprintf("ValuesIndex:\t%d", value))
	}
	return out
}

func join(parts ...[]string) (out []string) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// maxDiff is the size of the largest text that is compared line by line.
const maxDiff = 1 << 20

// diff returns a unified diff of two texts with one line of context.
func diff(want, got string) string {
	want, got = want+"\n", got+"\n"
	if len(want)+len(got) > maxDiff {
		return "the texts are too large to compare"
	}
	text, err := udiff.ToUnified("Expected", "Actual", want, udiff.Lines(want, got), 1)
	if err != nil {
		return err.Error()
	}
	return strings.TrimRight(text, " \n")
}

// eachDocument checks every document. Without documents, nothing is as asserted, and the result is
// none unless the assertion is negated.
func (v *view) eachDocument(none []string, check func(d document) []string) (out []string) {
	if len(v.docs) == 0 && !v.negated {
		return none
	}
	for _, d := range v.docs {
		out = append(out, check(d)...)
	}
	return out
}

// eachValue checks the values of a path in every document. ok reports whether a value is as asserted,
// and lines describe it; an error is one whether the assertion is negated or not. A path that does not
// exist is not as asserted.
func (v *view) eachValue(p valuePath, none []string,
	check func(found any) (ok bool, lines []string, err error)) []string {
	return v.eachDocument(join([]string{"Path:\t" + p.text}, none), func(d document) (out []string) {
		found, err := p.find(d)
		switch {
		case err != nil:
			return join(at(d, -1), errorLines("%s", err))
		case len(found) == 0 && v.negated:
			return nil
		case len(found) == 0:
			return join(at(d, -1), errorLines("unknown path %s", p.text))
		}
		for i, value := range found {
			ok, lines, err := check(value)
			switch {
			case err != nil:
				out = append(out, join(at(d, i), errorLines("%s", err))...)
			case ok == v.negated:
				out = append(out, join(at(d, i), []string{"Path:\t" + p.text}, lines)...)
			}
		}
		return out
	})
}
