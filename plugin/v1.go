// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// v1 is Helm 4's manifest.
type v1 struct {
	APIVersion    string    `yaml:"apiVersion"`
	Name          string    `yaml:"name"`
	Type          string    `yaml:"type"`
	Runtime       string    `yaml:"runtime"`
	Version       string    `yaml:"version"`
	SourceURL     string    `yaml:"sourceURL"`
	Config        yaml.Node `yaml:"config"`
	RuntimeConfig yaml.Node `yaml:"runtimeConfig"`
}

// cliConfig is the config of a plugin of the type cli/v1, getterConfig that of a getter/v1. A
// postrenderer/v1 has an empty config.
type cliConfig struct {
	Usage       string `yaml:"usage"`
	ShortHelp   string `yaml:"shortHelp"`
	LongHelp    string `yaml:"longHelp"`
	IgnoreFlags bool   `yaml:"ignoreFlags"`
}

type getterConfig struct {
	Protocols []string `yaml:"protocols"`
}

// subprocessConfig is the runtimeConfig of the runtime subprocess.
type subprocessConfig struct {
	PlatformCommand  []program            `yaml:"platformCommand"`
	PlatformHooks    map[string][]program `yaml:"platformHooks"`
	ProtocolCommands []protocolCommand    `yaml:"protocolCommands"`
}

type protocolCommand struct {
	Protocols       []string  `yaml:"protocols"`
	PlatformCommand []program `yaml:"platformCommand"`
}

func parseV1(data []byte) (Manifest, error) {
	var v v1
	if err := decode(data, true, &v); err != nil {
		return Manifest{}, err
	}
	m := Manifest{
		Name: v.Name, Version: v.Version, Type: v.Type, Runtime: v.Runtime, SourceURL: v.SourceURL,
		Usage: v.Name, Hooks: map[string][]Program{},
	}
	schemes, err := m.configure(&v.Config)
	if err != nil {
		return Manifest{}, err
	}
	switch v.Runtime {
	case Subprocess:
		err = m.subprocess(&v.RuntimeConfig, schemes)
	case Lua:
		if len(schemes) > 0 {
			m.Getters = []GetterConfig{{Schemes: schemes}}
		}
	case "":
		err = &FieldError{"runtime", "is missing: want subprocess or lua"}
	default:
		err = &FieldError{"runtime", fmt.Sprintf("%q is not supported: want subprocess or lua", v.Runtime)}
	}
	return m, err
}

// configure decodes config and returns the schemes of a getter.
func (m *Manifest) configure(config *yaml.Node) (schemes []string, err error) {
	switch m.Type {
	case CLI:
		var c cliConfig
		if err := decodeNode("config", config, true, &c); err != nil {
			return nil, err
		}
		m.Short, m.Long, m.IgnoreFlags = c.ShortHelp, c.LongHelp, c.IgnoreFlags
		if c.Usage != "" {
			m.Usage = c.Usage
		}
		return nil, nil
	case Getter:
		var c getterConfig
		if err := decodeNode("config", config, true, &c); err != nil {
			return nil, err
		}
		if len(c.Protocols) == 0 {
			return nil, &FieldError{"config.protocols", "is empty"}
		}
		return c.Protocols, nil
	case PostRenderer:
		var none struct{}
		return nil, decodeNode("config", config, true, &none)
	case "":
		return nil, &FieldError{"type", "is missing: want cli/v1, getter/v1 or postrenderer/v1"}
	}
	return nil, &FieldError{"type", fmt.Sprintf("%q is not one of cli/v1, getter/v1 and postrenderer/v1", m.Type)}
}

// subprocess decodes runtimeConfig. A scheme without a command is an error only when it is
// used.
func (m *Manifest) subprocess(config *yaml.Node, schemes []string) error {
	var c subprocessConfig
	if err := decodeNode("runtimeConfig", config, false, &c); err != nil {
		return err
	}
	m.Programs = programs(c.PlatformCommand, false)
	for name, list := range c.PlatformHooks {
		m.Hooks[name] = programs(list, true)
	}
	commands := map[string][]Program{}
	for _, p := range c.ProtocolCommands {
		for _, s := range p.Protocols {
			commands[s] = programs(p.PlatformCommand, true)
		}
	}
	for _, s := range schemes {
		m.Getters = append(m.Getters, GetterConfig{Schemes: []string{s}, Programs: commands[s]})
	}
	return nil
}

// decodeNode decodes a part of a manifest. If it is missing, into is unchanged.
func decodeNode(field string, n *yaml.Node, strict bool, into any) error {
	if n.IsZero() || n.Tag == "!!null" {
		return nil
	}
	text, err := yaml.MarshalV3(n) // only a decoder of text can be strict
	if err != nil {
		return &FieldError{field, err.Error()}
	}
	if err := decode(text, strict, into); err != nil {
		return &FieldError{field, err.Error()}
	}
	return nil
}
