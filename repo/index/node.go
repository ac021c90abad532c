// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// slowly appends the YAML document text to t, using the full parser.
func slowly(t *tape, text string) error {
	doc, err := parseYAML([]byte(text))
	if err != nil {
		return err
	}
	return (&putter{tape: t}).put(doc, 0)
}

// parseYAML parses the first document, keeping duplicate keys.
func parseYAML(data []byte) (*yaml.Node, error) {
	if tooManyNodes(data) {
		return nil, errNodes
	}
	var doc yaml.Node
	if err := yaml.UnmarshalV3(data, &doc); err != nil {
		return nil, syntaxError(err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil, &FormatError{Problem: "empty index.yaml file"}
	}
	return doc.Content[0], nil
}

// syntaxError returns an error of the parser as a [*FormatError] with its line.
func syntaxError(err error) error {
	line, problem, _ := yaml.CutLine(strings.TrimPrefix(err.Error(), "yaml: "))
	return &FormatError{Line: line, Problem: "no YAML: " + problem}
}

// yaml writes an index in YAML.
func (w *writer) yaml(data []byte) error {
	root, err := parseYAML(data)
	if err != nil {
		return err
	}
	root = yaml.Target(root)
	if root.Kind != yaml.MappingNode {
		k := scalar
		if root.Kind == yaml.SequenceNode {
			k = list
		} else if len(root.Value) == 0 || root.Tag == "!!null" {
			return &FormatError{Problem: "empty index.yaml file"}
		}
		return &FormatError{Problem: "it is " + k.String() + ", must be a table with apiVersion and entries"}
	}
	p := putter{tape: &w.t}
	pairs, err := p.pairs(root, 0)
	switch {
	case err != nil:
		return err
	case len(pairs)/2 > mostKeys:
		return errKeys
	}
	for ; len(pairs) > 0; pairs = pairs[2:] {
		if pairs[0].Value == "entries" {
			err = w.yamlCharts(yaml.Target(pairs[1]))
		} else {
			w.t = w.t[:0]
			if err = p.put(pairs[1], 0); err == nil {
				err = w.field(pairs[0].Value)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) yamlCharts(entries *yaml.Node) error {
	switch {
	case entries.Kind == yaml.ScalarNode && entries.Tag == "!!null":
		return w.charts(func() error { return nil })
	case entries.Kind == yaml.ScalarNode:
		return &FormatError{Line: entries.Line, Problem: "entries is text, must be a table of charts"}
	case entries.Kind != yaml.MappingNode:
		return &FormatError{Line: entries.Line, Problem: "entries is a list, must be a table of charts"}
	}
	pairs, err := (&putter{}).pairs(entries, 0)
	switch {
	case err != nil:
		return err
	case len(pairs)/2 > mostCharts:
		return errCharts
	}
	return w.charts(func() error {
		for ; len(pairs) > 0; pairs = pairs[2:] {
			if err := w.yamlChart(pairs[0].Value, yaml.Target(pairs[1])); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *writer) yamlChart(name string, v *yaml.Node) error {
	switch v.Kind {
	case yaml.MappingNode:
		w.t = w.t[:0]
		if err := (&putter{tape: &w.t}).put(v, 0); err != nil {
			return err
		}
		return w.chart(name, table, true)
	case yaml.ScalarNode:
		return w.chart(name, scalar, !plainNull(v))
	}
	return w.entries(name, func(n int) (bool, error) {
		if n == len(v.Content) {
			return false, nil
		}
		return true, (&putter{tape: &w.t}).put(v.Content[n], 0)
	})
}

func plainNull(v *yaml.Node) bool {
	var t tape
	t.scalar(v.Value, isPlain(v), 0)
	return t.null(0)
}

func isPlain(v *yaml.Node) bool {
	return v.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0
}

// putter appends nodes to a tape. It limits the expansion of aliases.
type putter struct {
	*tape
	aliased int // number of tokens from aliases
	inside  int // nesting depth of aliases
}

const mostAliased = 100_000

var errAliases = errors.New("its aliases go too deep or make too much of it")

func (p *putter) put(n *yaml.Node, depth int) error {
	if p.inside > 0 {
		p.aliased++
	}
	if depth > 10*yaml.MaxDepth || p.aliased > mostAliased {
		return &FormatError{Line: n.Line, Problem: errAliases.Error()}
	}
	switch n.Kind {
	case yaml.ScalarNode:
		p.scalar(n.Value, isPlain(n), n.Line)
		return nil
	case yaml.AliasNode:
		p.inside++
		defer func() { p.inside-- }()
		return p.put(n.Alias, depth+1)
	case yaml.SequenceNode:
		i := p.open(list, n.Line)
		for _, c := range n.Content {
			if err := p.put(c, depth+1); err != nil {
				return err
			}
		}
		p.close(i)
		return nil
	case yaml.MappingNode:
		pairs, err := p.pairs(n, depth)
		if err != nil {
			return err
		}
		i := p.open(table, n.Line)
		for j := 0; j < len(pairs); j += 2 {
			p.scalar(pairs[j].Value, false, pairs[j].Line)
			if err := p.put(pairs[j+1], depth+1); err != nil {
				return err
			}
		}
		p.close(i)
		return nil
	}
	return &FormatError{Line: n.Line, Problem: "no YAML that an index can hold"}
}

// pairs returns the keys and values of a table, followed by those of merged tables.
func (p *putter) pairs(n *yaml.Node, depth int) ([]*yaml.Node, error) {
	var out, merged []*yaml.Node
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := yaml.Target(n.Content[i])
		switch {
		case k.Kind != yaml.ScalarNode:
			return nil, &FormatError{Line: k.Line, Problem: "a key is not a string"}
		case seen[k.Value]:
			return nil, &DuplicateError{Key: k.Value, Line: k.Line}
		}
		seen[k.Value] = true
		if k.Value == "<<" && isPlain(k) {
			merged = append(merged, n.Content[i+1])
			continue
		}
		out = append(out, k, n.Content[i+1])
	}
	for _, m := range merged {
		more, err := p.merged(yaml.Target(m), depth+1)
		if err != nil {
			return nil, err
		}
		for ; len(more) > 0; more = more[2:] {
			if !seen[more[0].Value] {
				seen[more[0].Value] = true
				out = append(out, more[0], more[1])
			}
		}
	}
	return out, nil
}

// merged returns the pairs of a merge key (<<), whose value is a table or a list of tables;
// the first table has priority.
func (p *putter) merged(n *yaml.Node, depth int) ([]*yaml.Node, error) {
	if p.aliased += len(n.Content); depth > yaml.MaxDepth || p.aliased > mostAliased {
		return nil, &FormatError{Line: n.Line, Problem: errAliases.Error()}
	}
	switch n.Kind {
	case yaml.MappingNode:
		return p.pairs(n, depth)
	case yaml.SequenceNode:
		var out []*yaml.Node
		for _, c := range n.Content {
			if c = yaml.Target(c); c.Kind != yaml.MappingNode {
				break
			}
			more, err := p.pairs(c, depth)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
		return out, nil
	}
	return nil, &FormatError{Line: n.Line, Problem: fmt.Sprintf("%q merges a value that is not a map", "<<")}
}
