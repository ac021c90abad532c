// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/internal/term"
)

// templateEntry is an object in the data of a template.
type templateEntry struct {
	Namespace string
	Name      string
	Kind      string
	API       string
	Change    string // ADD, MODIFY, REMOVE or MODIFY_SUPPRESSED
}

// writeTemplate executes o.Template. For [JSON], or without a template, it prints helm-diff's JSON
// array, whose layout programs depend on.
func (d Diff) writeTemplate(w io.Writer, f Format, o Options) error {
	list := []templateEntry{}
	for _, e := range d.entries(o) {
		list = append(list, templateEntry{d.namespace(e.Ref), e.Name, e.Kind, apiGroup(e.Ref), e.change})
	}
	var b bytes.Buffer
	if f == JSON || o.Template == "" {
		writeArray(&b, list)
	} else if err := execute(&b, o.Template, list); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := term.SafeWriter(w).Write(b.Bytes())
	return err
}

func writeArray(b *bytes.Buffer, list []templateEntry) {
	b.WriteByte('[')
	for i, e := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("{\n")
		for j, field := range [][2]string{
			{"api", e.API}, {"kind", e.Kind}, {"namespace", e.Namespace}, {"name", e.Name}, {"change", e.Change},
		} {
			if j > 0 {
				b.WriteString(",\n")
			}
			text, _ := json.Marshal(field[1]) // marshalling a string cannot fail
			fmt.Fprintf(b, "  %q: %s", field[0], term.Escape(string(text)))
		}
		b.WriteString("\n}")
	}
	b.WriteByte(']')
}

func execute(b *bytes.Buffer, text string, list []templateEntry) error {
	err := engine.Text{
		Name: "HELM_DIFF_TPL", Text: text, Data: list,
		Functions: map[string]func(args ...any) (any, error){"last": isLast},
	}.Execute(b)
	if err != nil {
		return fmt.Errorf("execute the template of HELM_DIFF_TPL: %w", err)
	}
	return nil
}

var errLastArguments = errors.New("want an index and a list")

// isLast implements helm-diff's template function last INDEX LIST.
func isLast(args ...any) (any, error) {
	if len(args) != 2 {
		return nil, errLastArguments
	}
	i, ok := args[0].(int)
	list := reflect.ValueOf(args[1])
	if !ok || list.Kind() != reflect.Slice {
		return nil, errLastArguments
	}
	return i == list.Len()-1, nil
}
