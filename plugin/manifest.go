// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// What a plugin is for.
const (
	CLI          = "cli/v1"          // a command of its own
	Getter       = "getter/v1"       // brings what URLs of its schemes name
	PostRenderer = "postrenderer/v1" // changes what charts render to
)

// What runs a plugin.
const (
	Subprocess = "subprocess"
	Lua        = "lua"
)

// Hooks of a plugin: when it is installed, updated and uninstalled.
const (
	HookInstall = "install"
	HookUpdate  = "update"
	HookDelete  = "delete"
)

// Manifest is what a plugin says of itself, in either generation's form.
type Manifest struct {
	Name string
	// Version is a semantic version; Helm 3's plugins may have none.
	Version string
	// Legacy tells Helm 3's form from Helm 4's.
	Legacy  bool
	Type    string
	Runtime string
	// SourceURL is where its author says that it comes from.
	SourceURL string
	// Usage is the command's line in help ("cm-push [CHART] [REPO]"), Short its
	// summary, Long its explanation.
	Usage, Short, Long string
	// IgnoreFlags has the command called without any of the user's arguments.
	IgnoreFlags bool
	// Programs is what runs, by platform. It is empty where the plugin has no
	// command, or another runtime than [Subprocess].
	Programs []Program
	// Hooks are what runs when the plugin is installed, updated and uninstalled.
	Hooks map[string][]Program
	// Getters are the schemes that it serves.
	Getters []GetterConfig
}

// Program is a command line for one platform. An empty OS or Arch suits all.
type Program struct {
	OS, Arch string
	// Command is the program, with arguments behind it, all separated by blanks:
	// no quotes, as in Helm. $VARIABLES in the program stand for those of the
	// plugin's environment.
	Command string
	// Args are further arguments.
	Args []string
	// Literal leaves $VARIABLES in arguments alone, for the program to expand.
	Literal bool
}

// GetterConfig is how URLs of some schemes are served.
type GetterConfig struct {
	Schemes  []string
	Programs []Program
}

// HasCommand reports whether the plugin adds a command to helm. Helm 3's downloaders may
// do so too.
func (m *Manifest) HasCommand() bool {
	return m.Type == CLI || m.Legacy && len(m.Programs) > 0
}

// A FieldError is returned for a field of a manifest that is not valid.
type FieldError struct{ Field, Problem string }

func (e *FieldError) Error() string { return e.Field + " " + e.Problem }

// ErrEmpty is returned for an empty manifest (CVE-2024-26147).
var ErrEmpty = errors.New("it is empty")

// Parse reads a manifest. Duplicate keys, names outside of [A-Za-z0-9_-] and
// versions that are not semantic versions are refused. Control characters
// disappear from what ends up on a terminal.
//
// Fields that are not known are refused in Helm 4's form, and read past in Helm
// 3's, as Helm 4 does in both.
func Parse(data []byte) (Manifest, error) {
	var head struct {
		APIVersion string         `yaml:"apiVersion"`
		Rest       map[string]any `yaml:",inline"`
	}
	if err := decode(data, false, &head); err != nil {
		return Manifest{}, err
	}
	var (
		m   Manifest
		err error
	)
	switch head.APIVersion {
	case "":
		m, err = parseLegacy(data)
	case "v1":
		m, err = parseV1(data)
	default:
		return Manifest{}, &FieldError{"apiVersion",
			fmt.Sprintf("is %q; this helm knows v1, and Helm 3's manifests, which have none", head.APIVersion)}
	}
	if err != nil {
		return Manifest{}, err
	}
	if err := m.check(); err != nil {
		return Manifest{}, err
	}
	m.sanitize()
	return m, nil
}

// decode reads the first document of a YAML text.
func decode(data []byte, strict bool, into any) error {
	dec := yaml.NewDecoderV3(bytes.NewReader(data))
	dec.KnownFields(strict)
	err := dec.Decode(into)
	if errors.Is(err, io.EOF) {
		return ErrEmpty
	}
	var typed *yaml.TypeError
	if errors.As(err, &typed) {
		for i, line := range typed.Errors {
			for _, before := range []string{" in type ", " into "} { // Go's names help no one
				line, _, _ = strings.Cut(line, before)
			}
			typed.Errors[i] = strings.Replace(line, "cannot unmarshal", "is of the wrong kind:", 1)
		}
		return errors.New(strings.Join(typed.Errors, "; "))
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return nil
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// ValidName reports whether name is a valid name of a plugin, [A-Za-z0-9_-]+
// (CVE-2020-15186).
func ValidName(name string) bool {
	return name != "" && strings.Trim(name, letters+"0123456789_-") == ""
}

// validScheme reports whether a URL may begin so.
func validScheme(s string) bool {
	return s != "" && strings.Contains(letters, s[:1]) && strings.Trim(s, letters+"0123456789+._-") == ""
}

func (m *Manifest) check() error {
	if m.Name == "" {
		return &FieldError{"name", "is missing"}
	}
	if !ValidName(m.Name) {
		return &FieldError{"name", fmt.Sprintf("%q may have letters, digits, _ and - only", m.Name)}
	}
	if err := m.checkVersion(); err != nil {
		return err
	}
	for _, g := range m.Getters {
		if len(g.Schemes) == 0 {
			return &FieldError{"downloaders", "have one without protocols"}
		}
		for _, s := range g.Schemes {
			if !validScheme(s) {
				return &FieldError{"protocols", fmt.Sprintf("have %q, which is not a URL's scheme", s)}
			}
		}
	}
	return nil
}

// checkVersion takes semantic versions only (CVE-2026-35204): versions become
// parts of file names. Helm 3's plugins may do without, and may write v1.2.3 or
// 1.2, as many of them do.
func (m *Manifest) checkVersion() error {
	if m.Version == "" {
		if m.Legacy {
			return nil
		}
		return &FieldError{"version", "is missing"}
	}
	parse := semver.StrictNewVersion
	if m.Legacy {
		parse = semver.NewVersion
	}
	if _, err := parse(m.Version); err != nil {
		return &FieldError{"version", fmt.Sprintf("%q is not a semantic version, such as 1.2.3", m.Version)}
	}
	return nil
}

// Schemes are those of the URLs that the plugin brings.
func (m *Manifest) Schemes() []string {
	var all []string
	for _, g := range m.Getters {
		for _, s := range g.Schemes {
			if s = strings.ToLower(s); !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

func (m *Manifest) sanitize() {
	for _, s := range []*string{&m.SourceURL, &m.Usage, &m.Short} {
		*s = strings.Join(strings.Fields(printable(*s)), " ")
	}
	m.Long = strings.TrimRight(printable(m.Long), "\n")
}

// printable drops what has no shape of its own (CVE-2021-21303); newlines stay.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return -1
	}, s)
}
