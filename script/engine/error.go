// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/script/wire"
)

const (
	maxMessage = 16 << 10
	maxFrames  = 50
)

// scriptError is an error of a script, as [wire.Fail] describes it.
type scriptError struct {
	text string
	position
	traceback string
	limit     string
}

// errorOf returns an error of a chart's scripts that has no place in them; chart is -1 where
// it is not known.
func errorOf(chart int, text string) *scriptError {
	return &scriptError{text: text, position: position{place: place{chart: chart}}}
}

// exceededError returns the error of scripts that a limit has ended.
func exceededError(chart int, limit string) *scriptError {
	f := errorOf(chart, limitError(limit).Error())
	f.limit = limit
	return f
}

func (f *scriptError) Error() string { return f.text }

func (f *scriptError) message() wire.Message {
	return wire.Message{Kind: wire.Fail, Body: map[string]any{
		"message": f.text, "chart": int64(f.chart), "file": f.file, "line": int64(f.line),
		"traceback": f.traceback, "limit": f.limit,
	}}
}

// frame is a call that an error came through.
type frame struct {
	at rt.Cont
	// line is the one that golua reported when the error was raised. A function in the middle
	// of an operation knows its line only after the error has left it.
	line int
}

// trace is the calls that the last uncaught error came through.
type trace struct {
	frames []frame
	more   int
}

// newTraceback makes the message handler, which records the calls that an error came through
// and returns it as it is.
func (e *engine) newTraceback() rt.Callable {
	return e.value("traceback", 1, false, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		e.lastTrace = trace{}
		for at := c.Next(); at != nil; at = at.Parent() {
			t.RequireCPU(1)
			info := at.DebugInfo()
			if info == nil || info.Source == "[Go]" && info.Name == fieldName {
				continue
			}
			if len(e.lastTrace.frames) >= maxFrames {
				if e.lastTrace.more++; e.lastTrace.more > 1_000_000 {
					break
				}
				continue
			}
			e.lastTrace.frames = append(e.lastTrace.frames, frame{at: at, line: int(info.CurrentLine)})
		}
		return c.PushingNext1(t.Runtime, arg(c, 0)), nil
	}).AsCallable()
}

// explain makes a [*scriptError] of an error that Lua returned. It runs within the limits of
// the request, since an error object may have a __tostring of its own.
func (e *engine) explain(t *rt.Thread, err error, chart int) error {
	var f *scriptError
	if errors.As(err, &f) {
		return f
	}
	text, isText := e.errorText(t, rt.ErrorValue(err))
	f = errorOf(chart, text)
	if rest, at, ok := e.splitPlace(text); ok && isText {
		f.text, f.position = rest, at
	}
	for _, fr := range e.lastTrace.frames {
		at, known := e.positionOf(fr.at)
		if !known {
			continue
		}
		// golua reports the caller's line for what fails while a field is read or set.
		_, operation := fr.at.(*rt.Termination)
		if operation || f.file == "" || f.position == (position{at.place, fr.line}) {
			f.position = at
		}
		break
	}
	f.text = e.nameFunction(e.nameOperand(truncate.Bytes(f.text, maxMessage, "…"), f.position))
	f.traceback = e.lastTrace.String()
	return f
}

// errorText returns the text of an error value.
func (e *engine) errorText(t *rt.Thread, v rt.Value) (text string, isText bool) {
	if s, ok := v.TryString(); ok {
		return s, true
	}
	if tab, ok := v.TryTable(); ok {
		if s, err := e.text(t, v); err == nil && !strings.HasPrefix(s, "table: ") {
			return s, false
		}
		if s, ok := tab.Get(rt.StringValue("message")).TryString(); ok {
			return s, false
		}
	} else if v.IsNil() {
		return "error called without a message", false
	} else if s, ok := v.ToString(); ok {
		return s, false
	} else if v.Type() == rt.BoolType {
		return s, false
	}
	return fmt.Sprintf("(the error is a %s value)", v.TypeName()), false
}

// positionOf returns where a call is in the scripts; ok is false for functions of Go.
func (e *engine) positionOf(call rt.Cont) (at position, ok bool) {
	info := call.DebugInfo()
	if info == nil {
		return position{}, false
	}
	in, ok := e.sources[info.Source]
	return position{in, int(max(info.CurrentLine, 0))}, ok
}

// splitPlace cuts "source:12: " off a message, where the source is a chart's.
func (e *engine) splitPlace(text string) (rest string, at position, ok bool) {
	i := strings.Index(text, ".lua:")
	if i < 0 {
		return text, position{}, false
	}
	in, ok := e.sources[text[:i+4]]
	number, rest, _ := strings.Cut(text[i+5:], ":")
	line, err := strconv.Atoi(number)
	return strings.TrimPrefix(rest, " "), position{in, line}, ok && err == nil
}

func (t trace) String() string {
	var b strings.Builder
	for _, f := range t.frames {
		info := f.at.DebugInfo()
		if info == nil {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		switch {
		case info.Source == "[Go]":
			name := strings.TrimPrefix(info.Name, "__") // of golua's operators
			fmt.Fprintf(&b, "[helm]: in function '%s'", truncate.Bytes(name, 100, "…"))
		case info.CurrentLine > 0:
			fmt.Fprintf(&b, "%s:%d: in %s", info.Source, info.CurrentLine, functionName(info.Name))
		default:
			fmt.Fprintf(&b, "%s: in %s", info.Source, functionName(info.Name))
		}
	}
	if t.more > 0 {
		fmt.Fprintf(&b, "\n... and %d more", t.more)
	}
	return b.String()
}

func functionName(name string) string {
	switch name {
	case "<lua function>":
		return "a function"
	case "<main chunk>":
		return "main chunk"
	}
	return "function '" + truncate.Bytes(name, 100, "…") + "'"
}
