// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const kubeconfigVar = "MOONHELM_TEST_KUBECONFIG"

// client asks the API server directly.
type client struct {
	http       *http.Client
	server     string
	kubeconfig string
}

func connect(t *testing.T) *client {
	t.Helper()
	path := os.Getenv(kubeconfigVar)
	if path == "" {
		t.Skip("no cluster: make sdk brings one up (" + kubeconfigVar + ")")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &client{h, config.Host, path}
}

// statusError is an answer that is not a success.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return fmt.Sprintf("%d: %s", e.code, e.text) }

// conflicts reports whether err says that the object exists.
func conflicts(err error) bool {
	var status *statusError
	return errors.As(err, &status) && status.code == http.StatusConflict
}

// do sends body as JSON, where there is one, and decodes the answer into out, where it is
// wanted.
func (c *client) do(ctx context.Context, method, path string, body, out any) error {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.server+path, in)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return &statusError{res.StatusCode, strings.TrimSpace(string(text))}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// newNamespace makes a namespace for the test, and deletes it after it.
func newNamespace(t *testing.T, c *client, name string) {
	t.Helper()
	body := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
	if err := c.do(t.Context(), http.MethodPost, "/api/v1/namespaces", body, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.do(context.Background(), http.MethodDelete, "/api/v1/namespaces/"+name, nil, nil); err != nil {
			t.Error(err)
		}
	})
}
