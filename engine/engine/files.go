// SPDX-License-Identifier: Apache-2.0

// Package engine defines the type of .Files. The package and the type have the same names as
// in Helm, because templates print and compare names of types.
package engine

import (
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/gobwas/glob"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// files is the type of .Files, by name.
type files map[string][]byte

// Files are the .Files of templates: a chart's files other than templates.
type Files = files

// NewFiles returns the files of a chart as Files.
func NewFiles(from []*chart.File) Files {
	fs := make(files, len(from))
	for _, f := range from {
		fs[f.Name] = f.Data
	}
	return fs
}

// maxPattern limits the length of patterns of Glob, because parsing them is slow and recursive.
const maxPattern = 1000

// maxStars is the number of stars up to which the glob library is used, whose time is
// exponential in it. Patterns with more stars become a regular expression.
const maxStars = 4

// globRegexp returns a regular expression that matches the same names as pattern.
func globRegexp(pattern string) string {
	var b strings.Builder
	b.WriteString("(?s)^")
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			if strings.HasPrefix(pattern[i:], "**") {
				b.WriteString(".*")
				i++
			} else {
				b.WriteString("[^/]*")
			}
		case '?':
			b.WriteString("[^/]")
		case '{':
			b.WriteString("(?:")
		case '}':
			b.WriteByte(')')
		case ',':
			b.WriteByte('|')
		case '[':
			b.WriteByte('[')
			if strings.HasPrefix(pattern[i+1:], "!") {
				b.WriteByte('^')
				i++
			}
		case ']', '-':
			b.WriteByte(c)
		case '\\':
			if i++; i < len(pattern) {
				b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
			}
		default:
			if c < 0x80 {
				b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
			} else {
				b.WriteByte(c)
			}
		}
	}
	b.WriteByte('$')
	return b.String()
}

// GetBytes returns the content of a file, or an empty slice if it does not exist.
func (fs files) GetBytes(name string) []byte {
	if data, ok := fs[name]; ok {
		return data
	}
	return []byte{}
}

// Get returns the content of a file as a string, or "" if it does not exist.
func (fs files) Get(name string) string { return string(fs.GetBytes(name)) }

// Glob returns the files whose path matches pattern. "*" does not match a slash, and "**" does.
// As in Helm, an invalid pattern matches every file.
func (fs files) Glob(pattern string) files {
	if len(pattern) > maxPattern {
		panic(fmt.Errorf("a pattern of %d bytes is more than templates may ask for", len(pattern)))
	}
	match := func(string) bool { return true }
	if strings.Count(strings.ReplaceAll(pattern, "**", "*"), "*") > maxStars {
		if re, err := regexp.Compile(globRegexp(pattern)); err == nil {
			match = re.MatchString
		}
	} else if g, err := glob.Compile(pattern, '/'); err == nil {
		match = g.Match
	}
	out := files{}
	for name, data := range fs {
		if match(name) {
			out[name] = data
		}
	}
	return out
}

// AsConfig returns the files as YAML for the data of a ConfigMap, by their base names.
func (fs files) AsConfig() string { return written(ConfigData(fs)) }

// AsSecrets returns the files as YAML for the data of a Secret, by their base names.
func (fs files) AsSecrets() string { return written(SecretData(fs)) }

func written(data map[string]string) string {
	text, err := yaml.Marshal(data)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

// ConfigData returns the contents of the files by their base names. If several files have the
// same base name, the last one wins.
func ConfigData(fs Files) map[string]string {
	return named(fs, func(data []byte) string { return string(data) })
}

// SecretData is like ConfigData, with contents in base64.
func SecretData(fs Files) map[string]string { return named(fs, base64.StdEncoding.EncodeToString) }

func named(fs Files, text func([]byte) string) map[string]string {
	m := make(map[string]string, len(fs))
	for _, name := range slices.Sorted(maps.Keys(fs)) {
		m[path.Base(name)] = text(fs[name])
	}
	return m
}

// Lines returns the lines of a file without line feeds.
func (fs files) Lines(name string) []string {
	data, ok := fs[name]
	if !ok {
		return []string{}
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}
