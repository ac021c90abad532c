// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// played is a server with a sequence of responses.
func played(t *testing.T, answers ...func(http.ResponseWriter, *http.Request)) (*Waiter, *[]string) {
	t.Helper()
	var mu sync.Mutex
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		what := "list"
		if r.URL.Query().Get("watch") != "" {
			what = "watch " + r.URL.Query().Get("resourceVersion")
		}
		asked = append(asked, what)
		n := len(asked)
		mu.Unlock()
		if n > len(answers) {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		answers[n-1](w, r)
	}))
	t.Cleanup(s.Close)
	return New(kube.New(kube.Options{REST: func() (*rest.Config, error) { return &rest.Config{Host: s.URL}, nil }}), Grace{}), &asked
}

func object(name string, version int) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"resourceVersion":"%d"}}`, name, version)
}

func answer(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

func answerStatus(code int, reason string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
	}
}

// torn writes the beginning of a response and closes the connection.
func torn(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(text))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestFollowRecovers(t *testing.T) {
	if testing.Short() {
		t.Skip("waits between attempts for some seconds")
	}
	list := func(version int, objects ...string) func(http.ResponseWriter, *http.Request) {
		return answer(fmt.Sprintf(`{"metadata":{"resourceVersion":"%d"},"items":[%s]}`, version, joined(objects)))
	}
	change := func(kind, object string) string { return fmt.Sprintf(`{"type":%q,"object":%s}`, kind, object) + "\n" }
	c, asked := played(t,
		list(5, object("a", 3), object("b", 4)),
		torn(change("MODIFIED", object("a", 6))+`{"type":"MODI`),      // a connection that is reset
		answer(change("BOOKMARK", object("", 9))),                     // a watch that ends normally
		answer(change("ERROR", `{"kind":"Status","code":410}`)),       // an expired watch, reported by an event
		list(20, object("a", 12)),                                     // b was deleted in the meantime
		answerStatus(http.StatusGone, "Expired"),                      // an expired watch, reported by the status
		answerStatus(http.StatusInternalServerError, "InternalError"), // a failed list
		answerStatus(http.StatusServiceUnavailable, "ServiceUnavailable"),
		list(30, object("a", 12), object("c", 25)),
		answer(change("DELETED", object("c", 31))+change("ADDED", object("done", 32))),
	)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var got []string
	err := c.follow(ctx, api.PodCollection("ns"), nil, func(name string, raw json.RawMessage) bool {
		if raw == nil {
			name = "no " + name
		}
		got = append(got, name)
		return name == "done"
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "a", "a", "no b", "a", "c", "no c", "done"}; !slices.Equal(got, want) {
		t.Errorf("seen %q\nwant %q", got, want)
	}
	if want := []string{"list", "watch 5", "watch 6", "watch 9", "list", "watch 20", "list", "list", "list", "watch 30"}; !slices.Equal(*asked, want) {
		t.Errorf("asked %q\nwant  %q", *asked, want)
	}
}

func joined(s []string) string {
	out := ""
	for i, x := range s {
		if i > 0 {
			out += ","
		}
		out += x
	}
	return out
}

func TestFollowPermanentError(t *testing.T) {
	c, asked := played(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"pods is forbidden: User x cannot list resource"}`))
	})
	err := c.follow(t.Context(), api.PodCollection("ns"), nil, func(string, json.RawMessage) bool { return false })
	if !unavailable(err) || len(*asked) != 1 {
		t.Errorf("%v after %q", err, *asked)
	}
}

func TestFollowEndsWithContext(t *testing.T) {
	c, _ := played(t, answer(`{"metadata":{"resourceVersion":"1"}}`))
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(stop) })
	begun := time.Now()
	err := c.follow(ctx, api.PodCollection("ns"), nil, func(string, json.RawMessage) bool { return false })
	if !errors.Is(err, stop) || time.Since(begun) > 2*time.Second {
		t.Errorf("%v after %s", err, time.Since(begun))
	}
}

func TestDecodeRejectsNull(t *testing.T) {
	place := api.Collection{Resource: &kube.Resource{APIVersion: "v1", Kind: "Pod"}}
	for _, answer := range []string{"null", "[]", `"x"`, "7", "", strings.Repeat(`{"a":`, 100_000)} {
		if object, err := place.Decode([]byte(answer)); err == nil {
			t.Errorf("%.20s is %v", answer, object)
		}
	}
}
