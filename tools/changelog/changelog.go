// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// kinds are those of Keep a Changelog that fragments may have, in its order.
var kinds = []string{"added", "changed", "removed", "fixed", "security"}

var fragmentName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*\.(` + strings.Join(kinds, "|") + `)\.md$`)

// fragment is one file of changes/.
type fragment struct{ file, kind, text string }

// readFragments reads the fragments of a directory in the order of their names. The error
// names each file that is not a valid fragment.
func readFragments(dir string) ([]fragment, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var fragments []fragment
	var bad []error
	for _, entry := range entries {
		name := entry.Name()
		if name == "README.md" || name == "releases" {
			continue
		}
		match := fragmentName.FindStringSubmatch(name)
		if match == nil {
			bad = append(bad, fmt.Errorf("changes/%s: invalid name: want <topic>.<kind>.md with one of the kinds %s",
				name, strings.Join(kinds, ", ")))
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		text := strings.TrimSpace(string(data))
		if text == "" {
			bad = append(bad, fmt.Errorf("changes/%s: is empty", name))
			continue
		}
		fragments = append(fragments, fragment{name, match[2], text})
	}
	return fragments, errors.Join(bad...)
}

// section is a release's part of the changelog. Without a date the heading is the version.
func section(version, date string, fragments []fragment) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## [%s]", version)
	if date != "" {
		b.WriteString(" - " + date)
	}
	b.WriteString("\n")
	for _, kind := range kinds {
		heading := "\n### " + strings.ToUpper(kind[:1]) + kind[1:] + "\n\n"
		for _, f := range fragments {
			if f.kind == kind {
				b.WriteString(heading + item(f.text))
				heading = ""
			}
		}
	}
	return b.String()
}

// item is a fragment as an item of a list. Links that are relative to changes/ become
// relative to the root.
func item(text string) string {
	text = strings.ReplaceAll(text, "](../", "](")
	if !strings.HasPrefix(text, "- ") {
		text = "- " + strings.ReplaceAll(text, "\n", "\n  ")
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

const repository = "https://github.com/moonhelm/moonhelm"

// insert puts a section before those of older releases, and a link to the release at the end.
func insert(log, version, section string) (string, error) {
	if _, ok := find(log, version); ok {
		return "", fmt.Errorf("CHANGELOG.md has version %s already", version)
	}
	link := fmt.Sprintf("[%s]: %s/releases/tag/v%s\n", version, repository, version)
	body, links := log, ""
	if i := linkLines.FindStringIndex(log); i != nil {
		body, links = log[:i[0]], log[i[0]:]
	}
	body = strings.TrimRight(body, "\n") + "\n"
	if i := strings.Index(body, "\n## ["); i >= 0 {
		body = body[:i+1] + section + "\n" + body[i+1:]
	} else {
		body += "\n" + section
	}
	return body + "\n" + link + links, nil
}

// linkLines matches where the changelog's link definitions begin.
var linkLines = regexp.MustCompile(`(?m)^\[[0-9][^\]]*\]: `)

// find returns the section of a version, without the links at the changelog's end.
func find(log, version string) (string, bool) {
	start := strings.Index("\n"+log, "\n## ["+version+"]")
	if start < 0 {
		return "", false
	}
	section := log[start:]
	if i := strings.Index(section[1:], "\n## ["); i >= 0 {
		section = section[:i+2]
	} else if i := linkLines.FindStringIndex(section); i != nil {
		section = section[:i[0]]
	}
	return strings.TrimRight(section, "\n") + "\n", true
}
