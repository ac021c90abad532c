// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/engine/common"
	"github.com/moonhelm/moonhelm/event"
)

func TestLookupAndTemplateFunctions(t *testing.T) {
	c := lchart("web", `template.func("port", function(base, extra) return {n = base + #extra, list = extra} end)
	template.func("found", function(kind) return kube.lookup("v1", kind, "ns", "x") end)
	template.func("bad", function() error("no way") end)
	events.on("pre-render", function(ctx) template.func("late", function(v) return v.name end) end)
	template.func("version", function(v) return v.caps.KubeVersion.Version end)`)
	h := luaHost()
	bus := mustLoad(t, h, c)
	op := &event.Operation{Lookup: func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		switch kind {
		case "Secret":
			return map[string]any{"kind": kind, "data": map[string]any{"n": int64(7), "f": 2.0}}, nil
		case "Broken":
			return nil, errors.New("forbidden")
		}
		return nil, nil
	}}
	e := &event.PreRender{Payload: event.Payload{Chart: c, Values: map[string]any{}, Operation: op}}
	if err := errors.Join(bus.Emit(t.Context(), e), bus.Functions(t.Context(), e)); err != nil {
		t.Fatal(err)
	}
	fns := e.Functions["web"]
	caps := &common.Capabilities{KubeVersion: common.KubeVersion{Version: "v1.30.0"}}
	for _, tc := range []struct {
		name, function string
		args           []any
		want           string
	}{
		{"a number and a list", "port", []any{8000.0, []string{"a", "b"}}, "map[list:[a b] n:8002]"},
		{"an object", "found", []any{"Secret"}, "map[data:map[f:2 n:7] kind:Secret]"},
		{"an object that is not there", "found", []any{"None"}, "map[]"},
		{"a lookup that fails", "found", []any{"Broken"}, "!forbidden"},
		{"a function of a handler", "late", []any{map[string]string{"name": "x"}}, "x"},
		{".Capabilities below a key", "version", []any{map[string]any{"caps": caps}}, "v1.30.0"},
		{".Capabilities below a key of the root context", "version",
			[]any{map[string]any{"Capabilities": caps, "caps": caps}}, "v1.30.0"},
		{"a function that fails", "bad", nil, "!ext/lua/chart.lua:3: no way"},
		{"a function as an argument", "port", []any{func() {}}, "!argument 1: a func() cannot be given to a script"},
		{"a struct in an argument", "late", []any{map[string]any{"Files": struct{}{}}}, "!argument 1: Files: a struct {} cannot be given to a script"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := fns[tc.function](tc.args...)
			if want, bad := strings.CutPrefix(tc.want, "!"); bad {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, %v, want the error %q", got, err, want)
				}
			} else if err != nil || fmt.Sprint(got) != tc.want {
				t.Errorf("got %v, %v, want %s", got, err, tc.want)
			}
		})
	}
	done := make(chan error)
	for range 8 {
		go func() { _, err := fns["port"](1, []any{}); done <- err }()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
