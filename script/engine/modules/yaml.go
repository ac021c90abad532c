// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
	"github.com/moonhelm/moonhelm/script/engine/bridge"
	"github.com/moonhelm/moonhelm/script/wire"
)

// maxDocuments is the maximum number of documents in a text.
const maxDocuments = 10_000

func yamlFunctions() []function {
	return []function{
		fn("yaml.decode", "(text) → value", "Reads one YAML document by the rules by which values files are read (yes "+
			"and on are true, 0777 is octal, of two equal keys the last counts). Integers stay integers and floats floats; "+
			"no document is helm.null, several are an error.", 1, takesText((*call).decodeYAML)),
		fn("yaml.decodeAll", "(text) → list", "Reads all YAML documents of a text. Those that hold nothing are left out.",
			1, takesText(func(c *call, text string) error {
				docs, err := c.readYAML(text)
				if err != nil {
					return err
				}
				return c.giveData(docs)
			})),
		fn("yaml.encode", "(value) → text", "Writes YAML, keys in sorted order, indented by two spaces. Text that would "+
			"be read as something else is quoted; yaml.decode gives the same value back.", 1, (*call).encodeYAML),
	}
}

func (c *call) decodeYAML(text string) error {
	docs, err := c.readYAML(text)
	if err != nil {
		return err
	}
	switch len(docs) {
	case 0:
		return c.giveData(nil)
	case 1:
		return c.giveData(docs[0])
	}
	return c.fail("the text holds %d documents; yaml.decodeAll reads them", len(docs))
}

// readYAML returns the documents of a text that are not empty.
func (c *call) readYAML(text string) ([]any, error) {
	c.billYAML(text)
	docs := []any{}
	d := yaml.NewDecoderV2(strings.NewReader(text))
	for n := 0; ; n++ {
		if n == maxDocuments {
			return nil, c.fail("the text holds more than %d documents", maxDocuments)
		}
		var doc any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			if v, ok := c.asJSON(text); ok {
				return []any{v}, nil
			}
			problem := strings.TrimPrefix(err.Error(), "yaml: ")
			return nil, c.fail("%s", strings.TrimPrefix(problem, "unmarshal errors:\n  "))
		}
		if doc == nil {
			continue
		}
		v, err := c.plain(doc, 0)
		if err != nil {
			return nil, c.fail("%w", err)
		}
		docs = append(docs, v)
	}
}

// asJSON returns the value of JSON that is not valid YAML: it has escapes that YAML lacks.
func (c *call) asJSON(text string) (any, bool) {
	if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		return nil, false
	}
	v, err := c.readJSON(text)
	return v, err == nil
}

// billYAML charges what it may take to read text. The reader keeps every node of a document,
// which takes many times its text, and copies a node for each alias. It refuses more than
// about 400,000 copies.
func (c *call) billYAML(text string) {
	const (
		nodeSize  = 256
		maxCopies = 400_000
	)
	nodes := 1 + uint64(strings.Count(text, "\n")+strings.Count(text, ":")+strings.Count(text, ",")+
		strings.Count(text, "[")+strings.Count(text, "{")+strings.Count(text, "- ")+strings.Count(text, "? "))
	c.spend(2*uint64(len(text)) + 40*nodes)
	c.borrow(3*uint64(len(text)) + nodeSize*nodes)
	if aliases := strings.Count(text, "*"); aliases > 0 && strings.Contains(text, "&") {
		copies := maxCopies
		// k aliases in chains make at most 3^(k/3) of one node.
		if most := float64(nodes) * math.Pow(3, float64(aliases)/3); most < maxCopies {
			copies = int(most)
		}
		c.spend(40 * uint64(copies))
		c.borrow(nodeSize / 2 * uint64(copies))
	}
}

// plain converts what the YAML reader returns into values.
func (c *call) plain(v any, depth int) (any, error) {
	if depth > wire.MaxDepth {
		return nil, fmt.Errorf("the document nests deeper than %d levels", wire.MaxDepth)
	}
	switch v := v.(type) {
	case map[any]any:
		return c.plainMap(v, depth)
	case []any:
		c.spend(uint64(len(v)))
		for i, e := range v {
			p, err := c.plain(e, depth+1)
			if err != nil {
				return nil, err
			}
			v[i] = p
		}
		return v, nil
	case int:
		return int64(v), nil
	case uint64:
		return float64(v), nil // as Lua reads such a number
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("the document holds %v; data holds finite numbers only", v)
		}
	}
	return v, nil
}

func (c *call) plainMap(v map[any]any, depth int) (any, error) {
	c.spend(4 * uint64(len(v)))
	c.borrow(64 + 64*uint64(len(v)))
	out, err := yaml.TextKeys(v, func(_ string, e any) (any, error) { return c.plain(e, depth+1) })
	if key, ok := errors.AsType[*yaml.KeyError](err); ok {
		return nil, fmt.Errorf("the document has the key %v; a key is text, a number or a boolean", key.Key)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *call) encodeYAML() error {
	if c.cont.NArgs() == 0 {
		return c.expected(0, "value")
	}
	v, err := c.data(0)
	if err != nil {
		return err
	}
	w := yamlWriter{writer{call: c}}
	return w.giveWritten(w.document(v))
}

// yamlWriter writes block style, lists of a map no deeper than its keys, as
// Helm's toYaml does.
type yamlWriter struct{ writer }

func (w *yamlWriter) document(v any) error {
	fields, _ := v.(map[string]any)
	items, _ := v.([]any)
	switch {
	case len(fields) > 0:
		return w.table(fields, 0, 0)
	case len(items) > 0:
		return w.list(items, 0, 0)
	}
	err := w.scalar(v, 0)
	w.put("\n")
	return err
}

// below writes a value after "key:" or "-".
func (w *yamlWriter) below(v any, indent int, inList bool) error {
	fields, _ := v.(map[string]any)
	items, _ := v.([]any)
	switch {
	case len(fields) > 0 && inList:
		w.put(" ")
		return w.table(fields, indent+2, indent+2)
	case len(fields) > 0:
		w.put("\n")
		return w.table(fields, indent+2, 0)
	case len(items) > 0 && inList:
		w.put(" ")
		return w.list(items, indent+2, indent+2)
	case len(items) > 0:
		w.put("\n")
		return w.list(items, indent, 0)
	}
	w.put(" ")
	err := w.scalar(v, indent+2)
	w.put("\n")
	return err
}

// table writes a map, its first line after what is on it up to column at.
func (w *yamlWriter) table(v map[string]any, indent, at int) error {
	for _, k := range w.keys(v) {
		w.pad(indent - at)
		at = 0
		err := w.key(k, indent)
		if err == nil {
			err = w.below(v[k], indent, false)
		}
		if err != nil {
			return bridge.Below(k, err)
		}
	}
	return nil
}

func (w *yamlWriter) list(v []any, indent, at int) error {
	for i, e := range v {
		w.pad(indent - at)
		at = 0
		w.put("-")
		if err := w.below(e, indent, true); err != nil {
			return bridge.Below(int64(i+1), err)
		}
	}
	return nil
}
