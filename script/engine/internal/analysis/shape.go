// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/scriptapi"
)

// shape is what is known of a value. Of nil nothing is known.
type shape struct {
	class string
	// fields are all fields of a table; nil if it may have any.
	fields map[string]*shape
	// items is the shape of the items of a list, and of the values of a table with any keys.
	items *shape
	// kinds are those of the fields that are texts or numbers.
	kinds map[string]kind
	// may are the fields that a handler of some event may assign.
	may map[string]bool
}

// names returns the names of the fields, sorted.
func (s *shape) names() []string { return slices.Sorted(maps.Keys(s.fields)) }

// contextShape returns the shape of the argument of handlers.
func contextShape() *shape {
	classes := map[string]*shape{}
	for _, c := range scriptapi.Classes() {
		s := &shape{class: c.Name, may: map[string]bool{}, kinds: map[string]kind{}}
		if !c.Open {
			s.fields = map[string]*shape{}
		}
		classes[c.Name] = s
	}
	for _, c := range scriptapi.Classes() {
		s := classes[c.Name]
		for _, f := range c.Fields {
			s.may[f.Name] = f.Mutable
			s.kinds[f.Name] = map[string]kind{"string": textKind, "integer": numberKind, "number": numberKind}[f.Type]
			if s.fields == nil {
				continue
			}
			name, list := f.Element()
			of := classes[name]
			if list {
				of = &shape{items: of}
			}
			s.fields[f.Name] = of
		}
	}
	return classes["Context"]
}

// tableShapes returns the shapes of the tables among names such as "yaml" and "yaml.decode",
// by the table's name.
func tableShapes(names []string) map[string]*shape {
	out := map[string]*shape{}
	for _, name := range names {
		table, field, ok := strings.Cut(name, ".")
		if !ok {
			continue
		}
		if out[table] == nil {
			out[table] = &shape{fields: map[string]*shape{}}
		}
		out[table].fields[field] = nil
	}
	return out
}
