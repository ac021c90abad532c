// SPDX-License-Identifier: Apache-2.0

package readme

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// definitions are the built-in named templates. Their names and output are those of helm-docs.
//
//go:embed definitions.gotmpl
var definitions string

// Default is the template of a chart that has none.
const Default = `{{ template "chart.header" . }}
{{ template "chart.deprecationWarning" . }}

{{ template "chart.badgesSection" . }}

{{ template "chart.description" . }}

{{ template "chart.homepageLine" . }}

{{ template "chart.maintainersSection" . }}

{{ template "chart.sourcesSection" . }}

{{ template "chart.requirementsSection" . }}

{{ template "chart.valuesSection" . }}

{{ template "helm-docs.versionFooter" . }}
`

// execute renders the templates as those of a chart, because then they have the functions and the
// limits of a chart's templates.
func execute(ctx context.Context, in Input, root *data) (string, error) {
	texts := in.Templates
	if len(texts) == 0 {
		texts = []Template{{"default template", Default}}
	}
	texts = append([]Template{{"built-in template", definitions}}, texts...)
	name := in.Chart.Name()
	c := &chart.Chart{Metadata: &chart.Metadata{Name: name}}
	var main strings.Builder
	for i, t := range texts {
		c.Templates = append(c.Templates, &chart.File{Name: fileName(i), Data: []byte(t.Text)})
		fmt.Fprintf(&main, "{{ template %q readmeData }}", path.Join(name, fileName(i)))
	}
	c.Templates = append(c.Templates, &chart.File{Name: "templates/README.md", Data: []byte(main.String())})
	out, err := engine.Render(ctx, engine.Input{
		Chart: c,
		Functions: map[string]map[string]func(args ...any) (any, error){
			name: {"readmeData": func(...any) (any, error) { return root, nil }},
		},
		Replace: map[string]func(args ...any) (any, error){"fromJson": fromJSON, "toYaml": toYAML},
	})
	if err != nil {
		return "", named(err, texts)
	}
	return out.Files[0].Content, nil
}

// fileName is the name of the i-th template. Templates are parsed in reverse alphabetical order.
func fileName(i int) string { return fmt.Sprintf("templates/_%03d", 999-i) }

// named returns the error of a template with the name that the user knows.
func named(err error, texts []Template) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	renamed := *e
	for i, t := range texts {
		if strings.HasSuffix(e.File, fileName(i)) {
			renamed.File = t.Name
		}
	}
	renamed.Calls = nil // those between the template and the definitions
	return &renamed
}

// fromJSON is Sprig's: nil for what is not JSON. That of charts is for objects only.
func fromJSON(args ...any) (any, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("fromJson needs one text, not %d", len(args))
	}
	text, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("fromJson needs a text, not %T", args[0])
	}
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return nil, nil
	}
	return v, nil
}

// toYAML is that of helm-docs: maps and lists are indented by four.
func toYAML(args ...any) (any, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("toYaml needs one value, not %d", len(args))
	}
	text, err := yaml.MarshalV3(args[0])
	return strings.TrimSuffix(string(text), "\n"), err
}
