// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"

	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/script/wire"
)

// fields are what the process has sent: the body of a message, or a map in one. A field that
// is missing, or of another type, has its type's zero value.
type fields map[string]any

func (f fields) text(key string) string {
	t, _ := f[key].(string)
	return t
}

// short returns text of which no more is shown than most bytes.
func (f fields) short(key string, most int) string { return truncate.Bytes(f.text(key), most, "…") }

func (f fields) number(key string) int64 {
	n, _ := f[key].(int64)
	return n
}

// line returns the number of a line of a file, 0 where it is not one.
func (f fields) line() int {
	if n := f.number("line"); n > 0 && n < 1<<31 {
		return int(n)
	}
	return 0
}

// list returns a list of maps. An error is returned for anything else.
func (f fields) list(key string) ([]fields, error) {
	l, ok := f[key].([]any)
	if !ok && f[key] != nil {
		return nil, fmt.Errorf("its %s are not a list", key)
	}
	out := make([]fields, len(l))
	for i, e := range l {
		if out[i], ok = e.(map[string]any); !ok {
			return nil, fmt.Errorf("its %s are not maps", key)
		}
	}
	return out, nil
}

// readList returns what read makes of the maps of a list.
func readList[T any](f fields, key string, read func(fields) (T, error)) ([]T, error) {
	list, err := f.list(key)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(list))
	for i, e := range list {
		if out[i], err = read(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// texts returns a list as messages have it.
func texts(l []string) []any {
	out := make([]any, len(l))
	for i, s := range l {
		out[i] = s
	}
	return out
}

// textMap returns a map as messages have it.
func textMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// reply returns the message with an answer: a refusal where there is an error, or where the
// answer is too large to be sent.
func reply(body map[string]any, err error) *wire.Message {
	if err == nil {
		err = fits(body)
	}
	if err != nil {
		text := truncate.Bytes(err.Error(), maxMessage, "…")
		return &wire.Message{Kind: wire.Refuse, Body: map[string]any{"message": text}}
	}
	return &wire.Message{Kind: wire.Answer, Body: body}
}

// fits returns an error for an answer that cannot be sent.
func fits(v any) error {
	if wire.Size(v, wire.MaxFrame/2, wire.MaxDepth-2) < wire.MaxFrame/2 {
		return nil
	}
	b, err := wire.Append(nil, v)
	if err == nil && len(b) > wire.MaxFrame-1024 {
		err = wire.ErrTooLarge
	}
	return err
}
