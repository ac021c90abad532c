// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/script/wire"
)

func testServer(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Add("X-Two", "a")
		w.Header().Add("X-Two", "b")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("X-In"), body)
	})
	mux.HandleFunc("/huge", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 11<<20)) })
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(5 * time.Second):
		}
	})
	mux.HandleFunc("/circle", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/circle", http.StatusFound) })
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	})
	mux.HandleFunc("/once", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/echo", http.StatusFound) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// Requests as a process asks for them: chart 0 may use the network, chart 1 may
// not.
func TestRequestsOfScripts(t *testing.T) {
	s := testServer(t)
	for name, tc := range map[string]struct {
		body map[string]any
		want string
	}{
		"get":            {map[string]any{"url": s.URL + "/echo"}, "map[body:GET   "},
		"post":           {map[string]any{"url": s.URL + "/echo", "method": "post", "body": "hi", "headers": map[string]any{"x-in": "h"}}, "body:POST h hi "},
		"status":         {map[string]any{"url": s.URL + "/echo"}, "status:418"},
		"headers":        {map[string]any{"url": s.URL + "/echo"}, "X-Two:a, b"},
		"redirect":       {map[string]any{"url": s.URL + "/once"}, "status:418"},
		"too large":      {map[string]any{"url": s.URL + "/huge"}, "refused:GET " + s.URL + "/huge: the answer is larger than 10 MiB"},
		"too slow":       {map[string]any{"url": s.URL + "/slow", "timeout": int64(50)}, "no answer within 50ms"},
		"circle":         {map[string]any{"url": s.URL + "/circle"}, "more than 10 redirects"},
		"to a file":      {map[string]any{"url": s.URL + "/file"}, "is not an http or https address"},
		"a file":         {map[string]any{"url": "file:///etc/passwd"}, "is not an http or https address"},
		"no host":        {map[string]any{"url": "http:///x"}, "names no host"},
		"no url":         {map[string]any{}, "is not an http or https address"},
		"bad method":     {map[string]any{"url": s.URL, "method": "A B"}, "refused:"},
		"bad header":     {map[string]any{"url": s.URL, "headers": map[string]any{"x": int64(1)}}, `header "x" must be text`},
		"not granted":    {map[string]any{"url": s.URL + "/echo", "chart": int64(1)}, `no permission "network"`},
		"of nobody":      {map[string]any{"url": s.URL + "/echo", "chart": int64(7)}, `no permission "network"`},
		"nothing at all": {map[string]any{"chart": "x"}, `no permission "network"`},
	} {
		t.Run(name, func(t *testing.T) {
			var got map[string]any
			h := &script.Host{
				Approve: func(context.Context, []script.Ask) error { return nil },
				Start: scripts(handler{0, "pre-render", 0.5, func(c *call) []any {
					body := map[string]any{"chart": int64(0)}
					for k, v := range tc.body {
						body[k] = v
					}
					got = c.ask(wire.HTTP, body)
					return nil
				}}),
			}
			web := scripted("web", newChart("net", map[string]string{"ext/permissions.yaml": "lua: [network]"}))
			bus := mustLoad(t, h, web)
			if err := bus.Emit(t.Context(), &event.PreRender{Payload: event.Payload{Chart: web}}); err != nil {
				t.Fatal(err)
			}
			if text := fmt.Sprint(got); !strings.Contains(text, strings.TrimSuffix(tc.want, " ")) {
				t.Errorf("got %.300s", text)
			}
		})
	}
}

// Waiting for a server is not the script's computing time; the end of the
// operation ends it.
func TestWaitingForServers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	s := testServer(t)
	c := newChart("web", map[string]string{"ext/permissions.yaml": "lua: [network]", chart.FileScript: `
events.on("pre-render", function(ctx)
	local r = http.get("` + s.URL + `/echo", {headers = {["X-In"] = "lua"}})
	assert(r.status == 418 and r.body == "GET lua ")
	local addresses = net.lookup("localhost")
	assert(#addresses > 0)
end)
events.on("post-render", function(ctx) http.get("` + s.URL + `/slow") end)`})
	h := luaHost()
	h.Limits.CPU = 500 * time.Millisecond
	bus := mustLoad(t, h, c)
	if err := bus.Emit(t.Context(), &event.PreRender{Payload: event.Payload{Chart: c}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	within(t, 3*time.Second, func() {
		err := bus.Emit(ctx, &event.PostRender{Payload: event.Payload{Chart: c}})
		if err == nil || ctx.Err() == nil {
			t.Errorf("got %v before the context's end", err)
		}
	})
}
