// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
)

func framed(bodies ...string) string {
	var b strings.Builder
	for _, body := range bodies {
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	return b.String()
}

// TestBadMessages: a message that is not valid is answered with an error, and the session goes on.
func TestBadMessages(t *testing.T) {
	for _, test := range []struct {
		name, body string
		code       int64
	}{
		{"not JSON", "{hello}", jsonrpc2.CodeParseError},
		{"incomplete", `{"jsonrpc":"2.0","id":7,"method":"shut`, jsonrpc2.CodeParseError},
		{"more than one", `{"jsonrpc":"2.0","id":7,"method":"shutdown"} x`, jsonrpc2.CodeParseError},
		{"empty", "", jsonrpc2.CodeParseError},
		{"no message", `"text"`, jsonrpc2.CodeInvalidRequest},
		{"neither request nor response", `{"jsonrpc":"2.0","id":7}`, jsonrpc2.CodeInvalidRequest},
		{"id is a list", `{"jsonrpc":"2.0","id":[7],"method":"shutdown"}`, jsonrpc2.CodeInvalidRequest},
		{"empty batch", `[]`, jsonrpc2.CodeInvalidRequest},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := strings.NewReader(framed(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, test.body,
				`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`, `{"jsonrpc":"2.0","method":"exit"}`))
			var out bytes.Buffer
			if err := (Server{}).Serve(context.Background(), in, &out); err != nil {
				t.Fatal(err)
			}
			type answer struct {
				ID    *int
				Error *struct{ Code int64 }
			}
			answers := &messages{r: bufio.NewReader(&out)}
			var got []answer
			for {
				data, err := answers.read()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				var a answer
				if err := json.Unmarshal(data, &a); err != nil {
					t.Fatal(err)
				}
				got = append(got, a)
			}
			if len(got) != 3 || got[1].ID != nil || got[1].Error == nil || got[1].Error.Code != test.code ||
				got[2].ID == nil || *got[2].ID != 2 || got[2].Error != nil {
				t.Errorf("got %+v, want the error %d without an id between two answers", got, test.code)
			}
		})
	}
}

// TestBadHeaders: without a length it is not known where the next message begins.
func TestBadHeaders(t *testing.T) {
	for _, header := range []string{"hello", "Content-Length: x", "Content-Length: -1", "Content-Type: text",
		"Content-Length: 99999999999"} {
		t.Run(header, func(t *testing.T) {
			m := &messages{r: bufio.NewReader(strings.NewReader(header + "\r\n\r\n{}"))}
			if data, err := m.read(); err == nil {
				t.Errorf("got %q, want an error", data)
			}
		})
	}
}

// TestTwoCharts: two charts in one editor have their own values and diagnostics.
func TestTwoCharts(t *testing.T) {
	c := newClient(t)
	other := func(name string) string { return "../api/" + name }
	c.write(other("Chart.yaml"), "apiVersion: v2\nname: api\nversion: 1.0.0\nicon: https://example.com/x.png\n")
	c.write(other("values.yaml"), "port: 80\n")
	c.write(other("templates/config.yaml"), "# {{ .Values.port }}\n")
	for range 2 { // back and forth
		for _, test := range []struct{ file, want, not string }{
			{"templates/new.yaml", "image", "port"}, {other("templates/new.yaml"), "port", "image"},
		} {
			var items []CompletionItem
			c.ask("textDocument/completion", c.open(test.file, "a: {{ .Values.| }}"), &items)
			got := strings.Join(labels(items), " ")
			if !strings.Contains(got, test.want) || strings.Contains(got, test.not) {
				t.Errorf("%s: got %s, want %s and not %s", test.file, got, test.want, test.not)
			}
		}
	}
	c.open("templates/new.yaml", "a: {{ .Values.level | first }}\n")
	c.open(other("templates/new.yaml"), "a: {{ .Values.port | second }}\n")
	c.wait("templates/new.yaml", has("first"))
	c.wait(other("templates/new.yaml"), has("second"))
	c.open(other("templates/new.yaml"), "a: {{ .Values.port }}\n")
	c.wait(other("templates/new.yaml"), func(found []Diagnostic) bool { return !has("second")(found) })
	c.wait("templates/new.yaml", has("first")) // the other chart's stay
}
