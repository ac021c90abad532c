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

// The types of plugins.
const (
	CLI          = "cli/v1"          // a command of its own
	Getter       = "getter/v1"       // downloads from URLs with its schemes
	PostRenderer = "postrenderer/v1" // post-processes rendered charts
)

// The runtimes of plugins.
const (
	Subprocess = "subprocess"
	Lua        = "lua"
)

// The hooks of a plugin.
const (
	HookInstall = "install"
	HookUpdate  = "update"
	HookDelete  = "delete"
)

// Manifest is a plugin's manifest, in the format of Helm 3 or Helm 4.
type Manifest struct {
	Name string
	// Version is a semantic version. Plugins in Helm 3's format may have none.
	Version string
	// Legacy is set for Helm 3's format.
	Legacy  bool
	Type    string
	Runtime string
	// SourceURL is the source according to the author.
	SourceURL string
	// Usage is the usage line of the command ("cm-push [CHART] [REPO]"), Short its summary,
	// Long its description.
	Usage, Short, Long string
	// IgnoreFlags calls the command without the user's arguments.
	IgnoreFlags bool
	// Programs are the programs of the command, by platform. It is empty if the plugin has
	// no command or a runtime other than [Subprocess].
	Programs []Program
	// Hooks are the programs of the hooks.
	Hooks map[string][]Program
	// Getters are the supported URL schemes.
	Getters []GetterConfig
}

// Program is a command line for a platform. An empty OS or Arch matches all.
type Program struct {
	OS, Arch string
	// Command is the program, optionally with arguments, separated by blanks. As in Helm,
	// there are no quotes. $VARIABLES in the program are expanded from the plugin's
	// environment.
	Command string
	// Args are further arguments.
	Args []string
	// Literal disables the expansion of $VARIABLES in arguments.
	Literal bool
}

// GetterConfig maps URL schemes to programs.
type GetterConfig struct {
	Schemes  []string
	Programs []Program
}

// HasCommand reports whether the plugin adds a command to helm. Helm 3's downloaders may
// do so too.
func (m *Manifest) HasCommand() bool {
	return m.Type == CLI || m.Legacy && len(m.Programs) > 0
}

// A FieldError is returned for an invalid field of a manifest.
type FieldError struct{ Field, Problem string }

func (e *FieldError) Error() string { return e.Field + " " + e.Problem }

// ErrEmpty is returned for an empty manifest (CVE-2024-26147).
var ErrEmpty = errors.New("it is empty")

// Parse parses a manifest. Duplicate keys, names outside of [A-Za-z0-9_-] and versions that are
// not semantic versions are errors. Control characters are removed from texts that are printed.
//
// As in Helm 4, unknown fields are errors in Helm 4's format and ignored in Helm 3's.
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
			fmt.Sprintf("is %q: want v1, or none for the format of Helm 3", head.APIVersion)}
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

// decode decodes the first document of a YAML text.
func decode(data []byte, strict bool, into any) error {
	dec := yaml.NewDecoderV3(bytes.NewReader(data))
	dec.KnownFields(strict)
	err := dec.Decode(into)
	if errors.Is(err, io.EOF) {
		return ErrEmpty
	}
	if typed, ok := errors.AsType[*yaml.TypeError](err); ok {
		for i, line := range typed.Errors {
			for _, before := range []string{" in type ", " into "} { // remove the Go types
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

// validScheme reports whether s is a valid URL scheme.
func validScheme(s string) bool {
	return s != "" && strings.Contains(letters, s[:1]) && strings.Trim(s, letters+"0123456789+._-") == ""
}

func (m *Manifest) check() error {
	if m.Name == "" {
		return &FieldError{"name", "is missing"}
	}
	if !ValidName(m.Name) {
		return &FieldError{"name", fmt.Sprintf("%q may contain only letters, digits, _ and -", m.Name)}
	}
	if err := m.checkVersion(); err != nil {
		return err
	}
	for _, g := range m.Getters {
		if len(g.Schemes) == 0 {
			return &FieldError{"downloaders", "has an entry without protocols"}
		}
		for _, s := range g.Schemes {
			if !validScheme(s) {
				return &FieldError{"protocols", fmt.Sprintf("has %q, which is not a valid URL scheme", s)}
			}
		}
	}
	return nil
}

// checkVersion requires a semantic version (CVE-2026-35204), because it is used in file names.
// Plugins in Helm 3's format may have none, or a version like v1.2.3 or 1.2, as many have.
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

// Schemes returns the URL schemes of the plugin, in lower case.
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

// printable removes unprintable characters (CVE-2021-21303) except newlines.
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
