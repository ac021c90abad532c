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

// templateEntry is what a template sees of an object.
type templateEntry struct {
	Namespace string
	Name      string
	Kind      string
	API       string
	Change    string // ADD, MODIFY, REMOVE or MODIFY_SUPPRESSED
}

// writeTemplate executes the template of the options; without one, and for [JSON], it
// prints the JSON array whose layout programs know from helm-diff.
func (d Diff) writeTemplate(w io.Writer, f Format, o Options) error {
	list := []templateEntry{}
	for _, e := range d.entries(o) {
		list = append(list, templateEntry{d.namespace(e.Ref), e.Name, e.Kind, api(e.Ref), e.change})
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
			text, _ := json.Marshal(field[1]) // a string can always be written
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

// isLast is the function last INDEX LIST of helm-diff's templates.
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
