// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
)

type engine struct {
	in       *Input
	set      *template.Template
	depth    map[string]int
	warnings []string
}

func newEngine(in *Input, jobs []job) (*engine, error) {
	e := &engine{in: in, depth: map[string]int{}}
	missing := "missingkey=zero"
	if in.Strict {
		missing = "missingkey=error"
	}
	e.set = template.New("moonhelm").Option(missing).Funcs(e.funcs())
	e.bind(e.set)
	for _, j := range jobs {
		if _, err := e.set.New(j.name).Parse(j.text); err != nil {
			return nil, &Error{Message: err.Error(), err: err}
		}
	}
	return e, nil
}

func (e *engine) bind(set *template.Template) {
	set.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			if e.depth[name] > 1000 {
				return "", fmt.Errorf("include %q goes round in a circle", name)
			}
			e.depth[name]++
			defer func() { e.depth[name]-- }()
			var b strings.Builder
			err := set.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"tpl": func(text string, data any) (string, error) {
			t, err := set.Clone()
			if err != nil {
				return "", err
			}
			e.bind(t)
			t, err = t.New("tpl").Parse(text)
			if err != nil {
				return "", err
			}
			var b strings.Builder
			err = t.Execute(&b, data)
			return strings.ReplaceAll(b.String(), "<no value>", ""), err
		},
	})
}

func (e *engine) run(j *job) error {
	if j.partial() {
		return nil
	}
	var b strings.Builder
	if err := e.set.ExecuteTemplate(&b, j.name, j.scope.template(j.name)); err != nil {
		r := &Error{Message: err.Error(), err: err}
		var asked *raised
		if errors.As(err, &asked) {
			r.Message = asked.message
		}
		return r
	}
	j.output = strings.ReplaceAll(b.String(), "<no value>", "")
	return nil
}

// Error tells what went wrong in a template.
type Error struct {
	Message string
	err     error
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.err }
