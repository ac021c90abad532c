// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/script/wire"
)

func TestOutsideAnswersWithoutAHost(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s", r.Method, r.URL.Path)
	}))
	defer server.Close()
	o := script.Outside{Lookup: func(_ context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
		if kind == "Nothing" {
			return nil, nil
		}
		return map[string]any{"is": strings.Join([]string{apiVersion, kind, namespace, name}, " ")}, nil
	}}
	type m = map[string]any
	ask := func(kind wire.Kind, body m) (m, error) { return o.Answer(t.Context(), kind, body) }
	if got, err := ask(wire.HTTP, m{"method": "POST", "url": server.URL + "/x"}); err != nil || got["body"] != "POST /x" || got["status"] != int64(200) {
		t.Errorf("http: %v, %v", got, err)
	}
	if _, err := ask(wire.HTTP, m{"url": "file:///etc/passwd"}); err == nil || !strings.Contains(err.Error(), "not an http or https address") {
		t.Errorf("a file: %v", err)
	}
	if got, err := ask(wire.Host, m{"name": "127.0.0.1"}); err != nil || !reflect.DeepEqual(got, m{"addresses": []any{"127.0.0.1"}}) {
		t.Errorf("host: %v, %v", got, err)
	}
	lookup := m{"apiVersion": "v1", "kind": "Pod", "namespace": "a", "name": "b"}
	if got, err := ask(wire.Lookup, lookup); err != nil || !reflect.DeepEqual(got, m{"value": m{"is": "v1 Pod a b"}}) {
		t.Errorf("lookup: %v, %v", got, err)
	}
	lookup["kind"] = "Nothing"
	if got, err := ask(wire.Lookup, lookup); err != nil || !reflect.DeepEqual(got, m{"value": m{}}) {
		t.Errorf("lookup of nothing: %v, %v", got, err)
	}
	if got, err := (script.Outside{}).Answer(t.Context(), wire.Lookup, lookup); err != nil || !reflect.DeepEqual(got, m{"value": m{}}) {
		t.Errorf("lookup without a cluster: %v, %v", got, err)
	}
	if _, err := ask(wire.Load, m{}); err == nil {
		t.Error("a question for a host was answered")
	}
}
