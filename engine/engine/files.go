// SPDX-License-Identifier: Apache-2.0

// Package engine holds the type that templates see as .Files. It bears the name
// that the type has in Helm, for templates print and compare names of types.
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

// files are a chart's plain files as templates see them in .Files.
type files map[string][]byte

// Files are a chart's plain files as templates see them in .Files.
type Files = files

// NewFiles are the files of a chart.
func NewFiles(from []*chart.File) Files {
	fs := make(files, len(from))
	for _, f := range from {
		fs[f.Name] = f.Data
	}
	return fs
}

// maxPattern bounds the patterns of Glob: taking one apart is slow and recursive.
const maxPattern = 1000

// maxStars is how many stars the library may be given, which tries all ways to
// share a name out among them. More are left to a regular expression.
const maxStars = 4

// globRegexp is the regular expression that matches what pattern does.
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

// GetBytes is the file's content, empty where there is no such file.
func (fs files) GetBytes(name string) []byte {
	if data, ok := fs[name]; ok {
		return data
	}
	return []byte{}
}

// Get is the file's content as text, "" where there is no such file.
func (fs files) Get(name string) string { return string(fs.GetBytes(name)) }

// Glob are the files whose path matches pattern; "*" stays within one directory,
// "**" does not. A pattern that is none matches every file, as in Helm.
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

// AsConfig are the files as a ConfigMap's data, under their base names, in YAML.
func (fs files) AsConfig() string { return written(ConfigData(fs)) }

// AsSecrets are the files as a Secret's data, under their base names, in YAML.
func (fs files) AsSecrets() string { return written(SecretData(fs)) }

func written(data map[string]string) string {
	text, err := yaml.Marshal(data)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

// ConfigData are the texts of the files by their base names; of several with one
// name the last one counts.
func ConfigData(fs Files) map[string]string {
	return named(fs, func(data []byte) string { return string(data) })
}

// SecretData is ConfigData in base64.
func SecretData(fs Files) map[string]string { return named(fs, base64.StdEncoding.EncodeToString) }

func named(fs Files, text func([]byte) string) map[string]string {
	m := make(map[string]string, len(fs))
	for _, name := range slices.Sorted(maps.Keys(fs)) {
		m[path.Base(name)] = text(fs[name])
	}
	return m
}

// Lines are the file's lines without their line feeds.
func (fs files) Lines(name string) []string {
	data, ok := fs[name]
	if !ok {
		return []string{}
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}
