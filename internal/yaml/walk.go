// SPDX-License-Identifier: Apache-2.0

package yaml

// Sink receives the tokens that [Walk] scans. If build is false, the token is part of a value
// to skip: the sink only checks it, and Open and Close are not called in such a value. A sink
// returns false for ok to stop at a token that it cannot handle.
type Sink interface {
	// Open begins a map, or else a list. Close is called with the id that it returns.
	Open(isMap bool) (id int)
	// Key is a key of the map that was opened last. plain is set if the key has no quotes,
	// so that it may be a number or another value. Key returns false for keep to skip the
	// value.
	Key(key string, plain, build bool) (keep, ok bool)
	// Scalar is the value of the last key or the next item of a list. A missing value is
	// "" with plain set.
	Scalar(text string, plain, build bool) (ok bool)
	// Close ends the map or list that was opened last.
	Close(id int) (ok bool)
}

// Walk scans a document in the usual subset of YAML: block maps and lists, scalars, and flow
// collections on one line. It returns false if text has anything else, valid or not, or if
// the sink stops it; the caller must then use a complete parser. For a text without content it
// does not call the sink.
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
	// token is the offset of the key, dash or scalar that was scanned last, for sinks that need places.
	token int
	// item is called after each dash of a block list, unless it is nil.
	item func()
}

// is stops the walker unless ok is set.
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

// key passes a key to the sink.
func (w *walker) key(key string, plain, ok, build bool) (keep bool) {
	if ok {
		keep, ok = w.sink.Key(key, plain, build)
	}
	w.is(ok)
	return build && keep
}

// block scans a map or list.
func (w *walker) block(indent int, build bool) {
	if w.AtItem() {
		w.list(indent, build)
		return
	}
	id := w.open(true, build)
	for w.Indent == indent && !w.End {
		w.token = w.At
		key, plain, ok := w.Key()
		keep := w.key(key, plain, ok, build)
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
		w.token = w.At
		w.At++
		start := w.At
		w.Spaces()
		if w.item != nil {
			w.item()
		}
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

// value scans the value after a key's colon or an item's dash. indent is the indentation of
// the collection. A list may have the same indentation as its key.
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

// scalar scans a scalar or a flow collection. indent is the indentation of the collection that
// contains it.
func (w *walker) scalar(indent int, build bool) {
	w.token = w.At
	switch w.Text[w.At] {
	case '|', '>':
		if s := w.Block(indent, build); !w.Bad {
			w.is(w.sink.Scalar(s, false, build))
		}
		return
	case '"', '\'':
		w.quoted(build)
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
	w.is(w.Indent <= indent) // otherwise the scalar may continue on the next line
}

func (w *walker) quoted(build bool) {
	s, ok := w.Quoted()
	w.is(ok && w.sink.Scalar(s, false, build))
}

// flow scans a flow collection on one line.
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
			w.token = w.At
			key, plain, ok := w.FlowKey()
			keep = w.key(key, plain, ok, build)
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
	w.token = w.At
	switch w.Text[w.At] {
	case '[', '{':
		w.flow(build)
	case '"', '\'':
		w.quoted(build)
	default:
		s := w.FlowWord()
		w.is(s != "" && !w.Is(':') && w.sink.Scalar(s, true, build))
	}
}
