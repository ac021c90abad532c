// SPDX-License-Identifier: Apache-2.0

package plugin

import "fmt"

// legacy is Helm 3's manifest.
type legacy struct {
	Name            string               `yaml:"name"`
	Version         string               `yaml:"version"`
	Usage           string               `yaml:"usage"`
	Description     string               `yaml:"description"`
	PlatformCommand []program            `yaml:"platformCommand"`
	Command         string               `yaml:"command"`
	IgnoreFlags     bool                 `yaml:"ignoreFlags"`
	PlatformHooks   map[string][]program `yaml:"platformHooks"`
	Hooks           map[string]string    `yaml:"hooks"`
	Downloaders     []downloader         `yaml:"downloaders"`
}

type program struct {
	OS      string   `yaml:"os"`
	Arch    string   `yaml:"arch"`
	Command string   `yaml:"command"`
	Args    []string `yaml:"args"`
}

type downloader struct {
	Protocols []string `yaml:"protocols"`
	Command   string   `yaml:"command"`
}

func programs(in []program, literal bool) []Program {
	var out []Program
	for _, p := range in {
		out = append(out, Program{OS: p.OS, Arch: p.Arch, Command: p.Command, Args: p.Args, Literal: literal})
	}
	return out
}

// parseLegacy parses Helm 3's format. If there is both command and platformCommand, or hooks
// and platformHooks, the platform-specific one has priority and the other one is for all other
// platforms. Helm 3 does the same, and plugins rely on it.
func parseLegacy(data []byte) (Manifest, error) {
	var l legacy
	if err := decode(data, false, &l); err != nil {
		return Manifest{}, err
	}
	m := Manifest{
		Name: l.Name, Version: l.Version, Legacy: true, Type: CLI, Runtime: Subprocess,
		Usage: l.Name, Short: l.Usage, Long: l.Description, IgnoreFlags: l.IgnoreFlags,
		Programs: programs(l.PlatformCommand, false), Hooks: map[string][]Program{},
	}
	if l.Command != "" {
		m.Programs = append(m.Programs, Program{Command: l.Command})
	}
	for name, list := range l.PlatformHooks {
		m.Hooks[name] = programs(list, false)
	}
	for name, line := range l.Hooks {
		if line != "" { // a shell runs it, as in Helm
			m.Hooks[name] = append(m.Hooks[name], Program{Command: "sh", Args: []string{"-c", line}, Literal: true})
		}
	}
	for i, d := range l.Downloaders {
		if len(d.Protocols) == 0 {
			return Manifest{}, &FieldError{fmt.Sprintf("downloaders[%d].protocols", i), "is empty"}
		}
		if d.Command == "" {
			return Manifest{}, &FieldError{fmt.Sprintf("downloaders[%d].command", i), "is empty"}
		}
		m.Getters = append(m.Getters,
			GetterConfig{Schemes: d.Protocols, Programs: []Program{{Command: d.Command, Literal: true}}})
		m.Type = Getter
	}
	return m, nil
}
