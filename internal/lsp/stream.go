// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"reflect"
	"strconv"

	"github.com/sourcegraph/jsonrpc2"
)

// maxMessage is the largest message that is read, in bytes.
const maxMessage = 64 << 20

// messages is the stream of an editor's messages. A message that is not JSON, or not a request, is
// answered with an error, and the next one is read. An error of the headers ends the stream: it is not
// known where the next message begins.
type messages struct {
	jsonrpc2.ObjectStream // writes
	r                     *bufio.Reader
}

func newMessages(s streams) *messages {
	return &messages{jsonrpc2.NewBufferedStream(s, jsonrpc2.VSCodeObjectCodec{}), bufio.NewReader(s)}
}

// ReadObject implements jsonrpc2.ObjectStream.
func (m *messages) ReadObject(v any) error {
	for {
		data, err := m.read()
		if err != nil {
			return err
		}
		if err = json.Unmarshal(data, v); err == nil {
			return nil
		}
		reflect.ValueOf(v).Elem().SetZero() // it may have parts of the message
		code := int64(jsonrpc2.CodeInvalidRequest)
		if !json.Valid(data) {
			code = jsonrpc2.CodeParseError
		}
		if err := m.refuse(code, err.Error()); err != nil {
			return err
		}
	}
}

// read returns the content of the next message.
func (m *messages) read() ([]byte, error) {
	header, err := textproto.NewReader(m.r).ReadMIMEHeader()
	if err != nil {
		return nil, err
	}
	size, err := strconv.ParseUint(header.Get("Content-Length"), 10, 63)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the header Content-Length is %q, want a number of bytes", header.Get("Content-Length"))
	case size > maxMessage:
		return nil, fmt.Errorf("a message has %d bytes, at most %d are read", size, maxMessage)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(m.r, data); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return data, nil
}

// refuse answers a message whose id cannot be known.
func (m *messages) refuse(code int64, problem string) error {
	return m.WriteObject(struct {
		Version string         `json:"jsonrpc"`
		ID      any            `json:"id"` // null, as JSON-RPC 2.0 has it
		Error   jsonrpc2.Error `json:"error"`
	}{"2.0", nil, jsonrpc2.Error{Code: code, Message: problem}})
}
