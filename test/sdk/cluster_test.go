// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/apiserver"
)

// client is a client of the API server, independent of the code under test.
type client struct {
	*apiserver.Client
	kubeconfig string
}

func connect(t *testing.T) *client {
	t.Helper()
	return &client{apiserver.Connect(t), os.Getenv(apiserver.Kubeconfig)}
}

// statusError is returned for a response that is not a success.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return fmt.Sprintf("%d: %s", e.code, e.text) }

// conflicts reports whether err means that the object exists.
func conflicts(err error) bool {
	var status *statusError
	return errors.As(err, &status) && status.code == http.StatusConflict
}

// do sends body as JSON, unless it is nil, and decodes the response into out, unless it is nil.
func (c *client) do(ctx context.Context, method, path string, body, out any) error {
	var in []byte
	if body != nil {
		var err error
		if in, err = json.Marshal(body); err != nil {
			return err
		}
	}
	text, status, err := c.Call(ctx, method, path, "", string(in))
	if err != nil {
		return err
	}
	if status >= 300 {
		return &statusError{status, strings.TrimSpace(string(text))}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}
