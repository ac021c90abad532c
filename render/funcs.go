// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"

	"github.com/Masterminds/sprig/v3"
)

var errEmptyPath = errors.New("YAML path cannot be empty")

// raised is an error that a template asked for, with fail or required. Its
// text is the chart author's own.
type raised struct{ message string }

func (r *raised) Error() string { return r.message }

// funcs are all functions of templates but include and tpl, which need to know
// who calls them. The map is made once per operation.
func (e *engine) funcs() map[string]any {
	m := sprig.GenericFuncMap()
	delete(m, "env")
	delete(m, "expandenv")
	own := map[string]any{
		"toYaml":        toYAML,
		"mustToYaml":    mustToYAML,
		"toYamlPretty":  toYAMLPretty,
		"fromYaml":      fromYAML,
		"fromYamlArray": fromYAMLArray,
		"toJson":        toJSON,
		"mustToJson":    mustToJSON,
		"fromJson":      fromJSON,
		"fromJsonArray": fromJSONArray,
		"toToml":        toTOML,
		"mustToToml":    mustToTOML,
		"fromToml":      fromTOML,
		"required":      e.required,
		"fail":          e.fail,
		"lookup":        e.lookup,
		"getHostByName": e.lookupHost,
	}
	for name, fn := range own {
		m[name] = fn
	}
	for name, fn := range durationFuncs() {
		m[name] = fn
	}
	return m
}

func (e *engine) required(message string, v any) (any, error) {
	if v != nil && v != "" {
		return v, nil
	}
	if e.in.Lint {
		e.warnings = append(e.warnings, "a required value is missing: "+message)
		return "", nil
	}
	return v, &raised{message}
}

func (e *engine) fail(message string) (string, error) {
	if e.in.Lint {
		e.warnings = append(e.warnings, "a template failed: "+message)
		return "", nil
	}
	return "", &raised{message}
}

func (e *engine) lookup(apiVersion, kind, namespace, name string) (map[string]any, error) {
	if e.in.Lookup == nil {
		return map[string]any{}, nil
	}
	return e.in.Lookup(apiVersion, kind, namespace, name)
}

func (e *engine) lookupHost(host string) string {
	if e.in.LookupHost == nil {
		return ""
	}
	return e.in.LookupHost(host)
}
