// SPDX-License-Identifier: Apache-2.0

package yaml

// Quick decodes a document in the subset of YAML that nearly all charts use: block maps and
// lists, scalars on one or several lines, and flow collections on one line. ok is false if
// text has anything else, valid or not; the caller must then use a complete parser. If ok is
// true, the result is the same as that of [UnmarshalV2], except that keys are strings.
//
// number, if not nil, returns the value for each number: whole if isWhole is set, for a
// number without a decimal point and exponent, and otherwise float, which is finite. If
// number is nil, numbers are int64 and float64.
func Quick(text string, number func(isWhole bool, whole int64, float float64) any) (v any, ok bool) {
	return (&builder{number: number}).build(text)
}

// QuickKeys is like [Quick], but returns only the keys of a map for which wanted returns true.
// It checks the syntax of the others.
func QuickKeys(text string, wanted func(key string) bool) (v any, ok bool) {
	return (&builder{wanted: wanted}).build(text)
}

// builder is a Sink that builds values.
type builder struct {
	number func(isWhole bool, whole int64, float float64) any
	wanted func(key string) bool
	result any
	// items are the items of all open lists, outermost first.
	items []any
	open  []collection
	few   [8]collection // enough for most documents
}

// collection is an open map or list.
type collection struct {
	table map[string]any // nil for a list
	key   string         // the last key
	odd   bool           // a key was converted from a number or boolean
	from  int            // the index in items of a list's first item
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

// Key records a key.
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

// Scalar adds the value of a scalar.
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
