// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// toYaml is what templates spend their time in. Helm's goes through JSON, a
// YAML parser and a YAML emitter; yamlWriter writes the same bytes at once for
// the values that charts have, and leaves everything else to that way.

// encodeYAML writes v as Helm does, without the last line feed.
func encodeYAML(v any) (string, error) {
	text, _, err := writeYAML(v)
	return text, err
}

// writeYAML is encodeYAML that tells how many bytes it wrote, thrown away or not.
func writeYAML(v any) (text string, written int, err error) {
	w := yamlWriter{out: newBuffer()}
	defer w.out.free()
	if w.node(v, 0) {
		return strings.TrimSuffix(string(w.out.data), "\n"), len(w.out.data), nil
	}
	written = len(w.out.data)
	if err := checkSize(v); err != nil {
		return "", written, err
	}
	data, err := yaml.Marshal(v)
	if err != nil {
		return "", written, err
	}
	return strings.TrimSuffix(string(data), "\n"), written + len(data), nil
}

// yamlWidth is the column behind which the emitter breaks lines at spaces.
const yamlWidth = 80

type yamlWriter struct {
	out *buffer
	// odd remembers how scalars are written that are not obviously plain.
	odd map[string]string
	// lineStart is where the current line begins.
	lineStart int
	// open are the maps that are being written, the outermost first.
	open []unsafe.Pointer
}

func (w *yamlWriter) str(s string) { w.out.data = append(w.out.data, s...) }

func (w *yamlWriter) newline() {
	w.out.data = append(w.out.data, '\n')
	w.lineStart = len(w.out.data)
}

func (w *yamlWriter) indent(n int) {
	for range n {
		w.out.data = append(w.out.data, ' ')
	}
}

// column counts characters, as the emitter does: keys may be of any.
func (w *yamlWriter) column() int { return utf8.RuneCount(w.out.data[w.lineStart:]) }

// node writes v, whose first line is begun already, and ends the line; further
// lines are indented by n. It gives up where it is not sure.
func (w *yamlWriter) node(v any, n int) bool {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return w.word("null")
		}
		return writeMap(w, v, n)
	case Values:
		if v == nil {
			return w.word("null")
		}
		return writeMap(w, v, n)
	case map[string]string:
		if v == nil {
			return w.word("null")
		}
		return writeMap(w, v, n)
	case []any:
		if v == nil {
			return w.word("null")
		}
		return writeList(w, v, n)
	case []string:
		if v == nil {
			return w.word("null")
		}
		return writeList(w, v, n)
	case string:
		return w.text(v, n)
	}
	s, ok := plainScalar(v)
	return ok && w.word(s)
}

func (w *yamlWriter) word(s string) bool {
	w.str(s)
	w.newline()
	return true
}

func plainScalar(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "null", true
	case bool:
		return strconv.FormatBool(v), true
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return yamlFloat(v)
	}
	return "", false
}

// yamlFloat writes whole numbers as such, for JSON knows no other kind.
func yamlFloat(f float64) (string, bool) {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return "", false
	case f == 0:
		return "0", true // JSON's -0 is a whole number to the parser
	case f == math.Trunc(f) && f > -(1<<63) && f < 1<<64:
		return strconv.FormatFloat(f, 'f', -1, 64), true
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}

func writeMap[V any](w *yamlWriter, m map[string]V, n int) bool {
	if n > 2*maxNesting {
		return false
	}
	if len(m) == 0 {
		return w.word("{}")
	}
	at := reflect.ValueOf(m).UnsafePointer()
	if slices.Contains(w.open, at) {
		return false // it holds itself
	}
	w.open = append(w.open, at)
	defer func() { w.open = w.open[:len(w.open)-1] }()
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareNatural)
	for i, k := range keys {
		if len(w.out.data) > maxText {
			return false
		}
		if i > 0 {
			w.indent(n)
		}
		if !w.key(k) {
			return false
		}
		w.str(":")
		var v any = m[k]
		if !w.value(v, n) {
			return false
		}
	}
	return true
}

// value writes a map's value behind its colon; n is the key's indentation.
func (w *yamlWriter) value(v any, n int) bool {
	switch size(v) {
	case -1, 0:
		w.str(" ")
		return w.node(v, n+2)
	}
	w.newline()
	switch v.(type) {
	case []any, []string:
		w.indent(n)
		return w.node(v, n)
	}
	w.indent(n + 2)
	return w.node(v, n+2)
}

// size is the length of a map or list, -1 for anything else.
func size(v any) int {
	switch v := v.(type) {
	case map[string]any:
		return len(v)
	case Values:
		return len(v)
	case map[string]string:
		return len(v)
	case []any:
		return len(v)
	case []string:
		return len(v)
	}
	return -1
}

func writeList[V any](w *yamlWriter, list []V, n int) bool {
	if n > 2*maxNesting {
		return false
	}
	if len(list) == 0 {
		return w.word("[]")
	}
	for i, e := range list {
		if len(w.out.data) > maxText {
			return false
		}
		if i > 0 {
			w.indent(n)
		}
		w.str("- ")
		if !w.node(e, n+2) {
			return false
		}
	}
	return true
}

func (w *yamlWriter) key(k string) bool {
	if len(k) > 100 {
		return false
	}
	if plainText(k) {
		w.str(k)
		return true
	}
	if quotedText(k) {
		w.quote(k)
		return true
	}
	return w.oddText(k, true)
}

// text writes a string as a value. n is the indentation of its further lines.
func (w *yamlWriter) text(s string, n int) bool {
	if plainText(s) {
		w.folded(s, n)
		w.newline()
		return true
	}
	if strings.IndexByte(s, '\n') >= 0 {
		if w.literal(s, n) {
			return true
		}
	}
	if len(s) > yamlWidth {
		return false
	}
	if quotedText(s) {
		w.quote(s)
	} else if !w.oddText(s, false) {
		return false
	}
	if w.column() > yamlWidth && strings.IndexByte(s, ' ') >= 0 {
		return false // it would be broken somewhere
	}
	w.newline()
	return true
}

// folded writes plain text, broken at the first space behind the width.
func (w *yamlWriter) folded(s string, n int) {
	if w.column()+len(s) <= yamlWidth {
		w.str(s)
		return
	}
	spaces := false
	for i := range len(s) {
		c := s[i]
		if c == ' ' && !spaces && w.column() > yamlWidth && i+1 < len(s) && s[i+1] != ' ' {
			w.newline()
			w.indent(max(n, 2))
		} else {
			w.out.data = append(w.out.data, c)
		}
		spaces = c == ' '
	}
}

// literal writes text of several lines as a block, where it may be one.
func (w *yamlWriter) literal(s string, n int) bool {
	if s[0] == ' ' || s[0] == '\n' || n == 0 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '\n' && (c < ' ' || c > '~') || c == ' ' && (i+1 == len(s) || s[i+1] == '\n') {
			return false
		}
	}
	body := strings.TrimRight(s, "\n")
	switch len(s) - len(body) {
	case 0:
		w.str("|-")
	case 1:
		w.str("|")
	default:
		w.str("|+")
	}
	for line := range strings.SplitSeq(body, "\n") {
		w.newline()
		if line != "" {
			w.indent(n)
			w.str(line)
		}
	}
	for range max(len(s)-len(body), 1) {
		w.newline()
	}
	return true
}

// oddText writes text that needs quotes, perhaps, as the real emitter does.
func (w *yamlWriter) oddText(s string, key bool) bool {
	id := s
	if key {
		id = "\x00" + s
	}
	text, ok := w.odd[id]
	if !ok {
		if text, ok = emitOne(s, key); !ok {
			return false
		}
		if w.odd == nil {
			w.odd = map[string]string{}
		}
		w.odd[id] = text
	}
	w.str(text)
	return true
}

func emitOne(s string, key bool) (string, bool) {
	var v any = s
	if key {
		v = map[string]bool{s: true}
	}
	data, err := yaml.Marshal(v)
	if err != nil {
		return "", false
	}
	text := strings.TrimSuffix(string(data), "\n")
	if key {
		text, _ = strings.CutSuffix(text, ": true")
	}
	if strings.ContainsAny(text, "\n") || strings.HasPrefix(text, "? ") {
		return "", false
	}
	return text, true
}

// plainText reports that s is certainly written without quotes. It may say no
// where yes were right.
func plainText(s string) bool {
	if s == "" || !plainStart(s) || s[len(s)-1] == ' ' || s[len(s)-1] == ':' {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~':
			return false
		case c == ':' && s[i+1] == ' ', c == '#' && s[i-1] == ' ':
			return false
		}
	}
	return true
}

// plainStart looks at how s begins: not like anything that means something in
// YAML, and not like a number, a date or a word that stands for true.
func plainStart(s string) bool {
	c := s[0]
	switch {
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return len(s) > 5 || !meaningful(s)
	case c == '/' || c == '_' || c == '$' || c == '(':
		return true
	case c >= '0' && c <= '9':
		// A letter that no number and no date has, or a version with two dots.
		return strings.ContainsAny(s, "ghijklmnpqrsuvwyGHIJKLMNPQRSUVWY") ||
			strings.Count(s, ".") > 1 && strings.Trim(s, "0123456789.") == ""
	case c == '-':
		flag := strings.TrimPrefix(s[1:], "-")
		return flag != "" && (flag[0] >= 'a' && flag[0] <= 'z' || flag[0] >= 'A' && flag[0] <= 'Z')
	}
	return false
}

// quotedText reports that s is certainly written in double quotes, and holds
// nothing that needs an escape there.
func quotedText(s string) bool {
	return len(s) < 18 && (strings.Trim(s, "0123456789") == "" || meaningful(s) && properWord(s))
}

// properWord reports whether a word that may stand for true is written as such
// words are: yes, Yes or YES, but not yEs.
func properWord(s string) bool {
	return s == strings.ToLower(s) || s == strings.ToUpper(s) || s[1:] == strings.ToLower(s[1:])
}

func (w *yamlWriter) quote(s string) {
	w.str(`"`)
	w.str(s)
	w.str(`"`)
}

func meaningful(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return true
	}
	return false
}

// compareNatural orders keys as the emitter does: letters after everything
// else, and numbers in them by their value.
func compareNatural(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return len(a) - len(b)
	}
	for i > 0 && !utf8.RuneStart(a[i]) {
		i--
	}
	ra, _ := utf8.DecodeRuneInString(a[i:])
	rb, _ := utf8.DecodeRuneInString(b[i:])
	la, lb := unicode.IsLetter(ra), unicode.IsLetter(rb)
	switch {
	case la && lb:
		return int(ra) - int(rb)
	case la:
		return 1
	case lb:
		return -1
	}
	if c := compareNumbers(a, b, i, ra == '0' || rb == '0'); c != 0 {
		return c
	}
	return int(ra) - int(rb)
}

// compareNumbers compares the digits that begin at i in both keys. Where one of
// them is a zero within a longer number, the digits before it count too.
func compareNumbers(a, b string, i int, zero bool) int {
	var start int64
	if zero {
		for j := i - 1; j >= 0 && a[j] >= '0' && a[j] <= '9'; j-- {
			if a[j] != '0' {
				start = 1
				break
			}
		}
	}
	na, la := digits(a[i:], start)
	nb, lb := digits(b[i:], start)
	if na != nb {
		return order(na, nb)
	}
	return la - lb
}

func digits(s string, n int64) (value int64, length int) {
	for length < len(s) && s[length] >= '0' && s[length] <= '9' {
		n = n*10 + int64(s[length]-'0')
		length++
	}
	return n, length
}
