// SPDX-License-Identifier: Apache-2.0

package yaml

// Quick decodes one document of the subset of YAML that charts nearly always use: block
// maps and lists, scalars on one line or several, collections in brackets on one line. ok
// is false where text holds anything else, valid or not: then a full parser has to read it.
// Where ok is true, [UnmarshalV2] would return the same, but for keys, which are text here.
//
// number, if not nil, makes the value of each number: of whole, where it is written without
// point and exponent, or else of float, which is finite. nil makes them int64 and float64.
func Quick(text string, number func(isWhole bool, whole int64, float float64) any) (v any, ok bool) {
	return (&builder{number: number}).build(text)
}

// QuickKeys is [Quick] for the keys of a map that wanted returns true for: the others are
// checked and left out.
func QuickKeys(text string, wanted func(key string) bool) (v any, ok bool) {
	return (&builder{wanted: wanted}).build(text)
}

// builder is the sink that makes values.
type builder struct {
	number func(isWhole bool, whole int64, float float64) any
	wanted func(key string) bool
	result any
	// items are those of the lists that are open, the outermost first.
	items []any
	open  []collection
	few   [8]collection // what most documents have open at most
}

// collection is a map or list that is open.
type collection struct {
	table map[string]any // nil for a list
	key   string         // the last one
	odd   bool           // a key is a number or boolean made text
	from  int            // where a list's items begin
}

func (b *builder) build(text string) (any, bool) {
	b.open = b.few[:0]
	if !Walk(text, b) {
		return nil, false
	}
	return b.result, true
}

// Open begins a map or a list.
func (b *builder) Open(isMap bool) int {
	c := collection{from: len(b.items)}
	if isMap {
		c.table = make(map[string]any, 4)
	}
	b.open = append(b.open, c)
	return 0
}

// Key notes a key.
func (b *builder) Key(key string, plain, build bool) (keep, ok bool) {
	odd := false
	if plain {
		if key, odd, ok = PlainKey(key); !ok {
			return false, false
		}
	}
	if !build {
		return false, true
	}
	c := &b.open[len(b.open)-1]
	c.odd = c.odd || odd
	if c.odd {
		if _, there := c.table[key]; there {
			return false, false
		}
	}
	c.key = key
	return b.wanted == nil || len(b.open) > 1 || b.wanted(key), true
}

// Scalar makes a value of a scalar.
func (b *builder) Scalar(text string, plain, build bool) bool {
	if !build {
		return !plain || !notFinite(text)
	}
	if !plain {
		b.put(text)
		return true
	}
	v, ok := b.resolve(text)
	b.put(v)
	return ok
}

// Close ends a map or a list.
func (b *builder) Close(int) bool {
	c := b.open[len(b.open)-1]
	b.open = b.open[:len(b.open)-1]
	if c.table != nil {
		b.put(c.table)
		return true
	}
	list := make([]any, len(b.items)-c.from)
	copy(list, b.items[c.from:])
	clear(b.items[c.from:])
	b.items = b.items[:c.from]
	b.put(list)
	return true
}

func (b *builder) put(v any) {
	if len(b.open) == 0 {
		b.result = v
		return
	}
	if c := &b.open[len(b.open)-1]; c.table != nil {
		c.table[c.key] = v
	} else {
		b.items = append(b.items, v)
	}
}

func (b *builder) resolve(s string) (any, bool) {
	v, ok := Resolve(s)
	if !ok || b.number == nil {
		return v, ok
	}
	switch n := v.(type) {
	case int64:
		return b.number(true, n, 0), true
	case float64:
		return b.number(false, 0, n), true
	}
	return v, true
}
