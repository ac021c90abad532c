// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"fmt"
	"path"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// IgnoreRules are the patterns of a .helmignore file. They work as in Helm, and differently
// from .gitignore:
//
//   - A pattern without a slash is matched against the base name of a file, a pattern with
//     a slash against the path. A leading slash has no other effect.
//   - A trailing slash restricts a pattern to directories. All files in an ignored
//     directory are ignored.
//   - "!" ignores all files that do not match the pattern; it does not make an exception
//     to an earlier pattern.
//   - "**" is an error. White space around a pattern is removed, and a line that begins
//     with "#" is a comment.
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

// ParseIgnore parses a .helmignore file and adds the rule that Helm always applies: hidden
// files in templates/ are ignored.
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

// Ignored reports whether the file or directory with the given path in the chart is
// ignored. It does not look at the path's parents: the caller must not descend into an
// ignored directory.
func (r IgnoreRules) Ignored(name string, isDir bool) bool { return r.match(name, isDir) != nil }

// match returns the rule that ignores name, or nil if there is none.
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
