// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"fmt"
	"path"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// IgnoreRules are the patterns of a .helmignore file. The rules are Helm's, as
// its binary applies them, and not those of .gitignore:
//
//   - a pattern without a slash is compared with a file's base name anywhere,
//     one with a slash with the whole path; a leading slash only asks for that;
//   - a trailing slash restricts a pattern to directories, and what is in an
//     ignored directory is ignored;
//   - "!" ignores everything that does not match, rather than taking something
//     back;
//   - "**" is an error; white space around a pattern does not count, "#" begins
//     a comment where it is first.
//
// The zero value ignores nothing.
type IgnoreRules struct {
	rules []ignoreRule
}

type ignoreRule struct {
	line     int // 0 for the built-in rule
	text     string
	pattern  string
	negate   bool
	dirOnly  bool
	fullPath bool
}

// ParseIgnore reads a .helmignore file. Its rules are those of the text plus
// the one that always applies: hidden files in templates/ are ignored.
func ParseIgnore(data []byte) (IgnoreRules, error) {
	var out IgnoreRules
	line := 0
	for text := range strings.Lines(string(trimBOM(data))) {
		line++
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		r, err := parseIgnoreRule(text)
		if err != nil {
			return IgnoreRules{}, fmt.Errorf("%s:%d: %q: %w", chart.FileIgnore, line, text, err)
		}
		r.line = line
		out.rules = append(out.rules, r)
	}
	hidden, err := parseIgnoreRule(chart.DirTemplates + "/.?*")
	out.rules = append(out.rules, hidden)
	return out, err
}

func parseIgnoreRule(text string) (ignoreRule, error) {
	r := ignoreRule{text: text}
	pattern := text
	if strings.Contains(pattern, "**") {
		return r, fmt.Errorf("double-star (**) syntax is not supported; name the directories, or the file without them")
	}
	if _, err := path.Match(pattern, "abc"); err != nil {
		return r, err
	}
	pattern, r.negate = strings.CutPrefix(pattern, "!")
	pattern, r.dirOnly = strings.CutSuffix(pattern, "/")
	pattern, rooted := strings.CutPrefix(pattern, "/")
	r.fullPath = rooted || strings.Contains(pattern, "/")
	r.pattern = pattern
	return r, nil
}

// Ignored reports whether the file or directory with that path from the chart's top is
// left out. It looks at the path alone: the caller does not descend into a directory that
// is left out.
func (r IgnoreRules) Ignored(name string, isDir bool) bool { return r.match(name, isDir) != nil }

// match returns the rule that leaves name out, nil where none does.
func (r IgnoreRules) match(name string, isDir bool) *ignoreRule {
	for i := range r.rules {
		rule := &r.rules[i]
		hit := (isDir || !rule.dirOnly) && rule.matches(name)
		if hit != rule.negate {
			return rule
		}
	}
	return nil
}

func (r *ignoreRule) matches(name string) bool {
	if !r.fullPath {
		name = path.Base(name)
	}
	if r.pattern == name {
		return true
	}
	ok, err := path.Match(r.pattern, name)
	return ok && err == nil
}
