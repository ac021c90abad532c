// SPDX-License-Identifier: Apache-2.0

package yaml

// Sink makes something of what [Walk] finds. Where build is false, the text stands below a
// key whose value is passed over: it is only checked, and no map or list is opened for it.
// ok is false where the sink does not know what to make of a text.
type Sink interface {
	// Open begins a map, or else a list. Close is called with the id that it returns.
	Open(isMap bool) (id int)
	// Key is a key of the map that was opened last. plain reports that it stands without
	// quotes, so that it may be a number or a word with a meaning. keep is false to pass
	// over its value.
	Key(key string, plain, build bool) (keep, ok bool)
	// Scalar is a value: of the key that came last, or the next of a list. "" without
	// quotes is one that is left out.
	Scalar(text string, plain, build bool) (ok bool)
	// Close ends the map or list that was opened last.
	Close(id int) (ok bool)
}

// Walk reads one document in usual YAML: block maps and lists, scalars, collections in
// brackets on one line. It is false where text holds anything else, valid or not, and
// where the sink said so; then a full parser has to read the text. Of a text without
// content it tells the sink nothing.
func Walk(text string, sink Sink) bool {
	if !Simple(text) {
		return false
	}
	w := walker{lineReader: lineReader{Text: text}, sink: sink}
	if w.Next(); !w.End {
		w.block(w.Indent, true)
	}
	return w.End && !w.Bad
}

type walker struct {
	lineReader
	sink  Sink
	depth int
}

// is goes on if ok is set.
func (w *walker) is(ok bool) {
	if !ok {
		w.Fail()
	}
}

func (w *walker) open(isMap, build bool) (id int) {
	if w.depth++; w.depth > MaxDepth {
		w.Fail()
	} else if build {
		return w.sink.Open(isMap)
	}
	return 0
}

func (w *walker) close(id int, build bool) {
	w.depth--
	if build && !w.Bad {
		w.is(w.sink.Close(id))
	}
}

// tellKey tells the sink of a key that the reader found.
func (w *walker) tellKey(key string, plain, ok, build bool) (keep bool) {
	if ok {
		keep, ok = w.sink.Key(key, plain, build)
	}
	w.is(ok)
	return build && keep
}

// block reads the map or list that begins here.
func (w *walker) block(indent int, build bool) {
	if w.AtItem() {
		w.list(indent, build)
		return
	}
	id := w.open(true, build)
	for w.Indent == indent && !w.End {
		key, plain, ok := w.Key()
		keep := w.tellKey(key, plain, ok, build)
		if !w.Bad {
			w.value(indent, keep, true)
		}
	}
	w.is(w.Indent <= indent)
	w.close(id, build)
}

func (w *walker) list(indent int, build bool) {
	id := w.open(false, build)
	for w.Indent == indent && !w.End && w.AtItem() {
		w.At++
		start := w.At
		w.Spaces()
		if w.At < len(w.Text) && w.Text[w.At] != '\n' && (w.AtItem() || w.KeyAhead()) {
			w.Indent = indent + 1 + w.At - start
			w.block(w.Indent, build)
		} else {
			w.value(indent, build, false)
		}
	}
	w.is(w.Indent <= indent)
	w.close(id, build)
}

// value reads what follows a key's colon or an item's dash; indent is that of
// the collection. A list may stand right below its key.
func (w *walker) value(indent int, build, ofKey bool) {
	if w.Spaces(); w.AtValue() {
		w.scalar(indent, build)
		return
	}
	w.EndLine()
	switch {
	case w.Bad:
	case w.Indent > indent && !w.AtItem() && !w.KeyAhead():
		w.scalar(indent, build)
	case w.Indent > indent, ofKey && w.Indent == indent && !w.End && w.AtItem():
		w.block(w.Indent, build)
	default:
		w.is(w.sink.Scalar("", true, build))
	}
}

// scalar reads a scalar or a collection in brackets that begins here; indent is
// that of the collection around it.
func (w *walker) scalar(indent int, build bool) {
	switch w.Text[w.At] {
	case '|', '>':
		if s := w.Block(indent, build); !w.Bad {
			w.is(w.sink.Scalar(s, false, build))
		}
		return
	case '"', '\'':
		w.tellQuoted(build)
	case '[', '{':
		w.flow(build)
	default:
		if s := w.Plain(indent, build); !w.Bad {
			w.is(w.sink.Scalar(s, true, build))
		}
		return
	}
	if !w.Bad {
		w.EndLine()
	}
	w.is(w.Indent <= indent) // else the scalar goes on in the next line, or so it seems
}

func (w *walker) tellQuoted(build bool) {
	s, ok := w.Quoted()
	w.is(ok && w.sink.Scalar(s, false, build))
}

// flow reads a collection in brackets that ends in its line.
func (w *walker) flow(build bool) {
	isMap, end := w.Text[w.At] == '{', byte(']')
	if isMap {
		end = '}'
	}
	id := w.open(isMap, build)
	w.At++
	for first := true; !w.Bad; first = false {
		if w.Spaces(); first && w.Is(end) {
			break
		}
		keep := build
		if isMap {
			key, plain, ok := w.FlowKey()
			keep = w.tellKey(key, plain, ok, build)
		}
		if !w.Bad {
			w.flowValue(keep)
		}
		if w.Spaces(); w.Is(end) {
			break
		}
		w.is(w.Is(','))
		w.At++
	}
	w.At++
	w.close(id, build)
}

func (w *walker) flowValue(build bool) {
	w.Spaces()
	if w.At == len(w.Text) {
		w.Fail()
		return
	}
	switch w.Text[w.At] {
	case '[', '{':
		w.flow(build)
	case '"', '\'':
		w.tellQuoted(build)
	default:
		s := w.FlowWord()
		w.is(s != "" && !w.Is(':') && w.sink.Scalar(s, true, build))
	}
}
