// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/progress"
)

// trip is a transport with scripted responses, one per request. The last one is repeated.
type trip struct {
	script []answerer
	asked  []string
	at     []time.Duration
	began  time.Time
}

type answerer func(*http.Request) (*http.Response, error)

func (t *trip) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	t.asked = append(t.asked, r.Method+" "+r.URL.Path)
	t.at = append(t.at, time.Since(t.began))
	next := t.script[0]
	if len(t.script) > 1 {
		t.script = t.script[1:]
	}
	return next(r)
}

func replies(code int, text string, header ...string) answerer {
	return func(r *http.Request) (*http.Response, error) {
		connected(r)
		h := http.Header{"Content-Type": {"application/json"}, "Date": {time.Now().UTC().Format(http.TimeFormat)}}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	}
}

func refusal(code int, reason string, header ...string) answerer {
	return replies(code, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"`+reason+`","message":"`+reason+`"}`, header...)
}

func connected(r *http.Request) {
	if t := httptrace.ContextClientTrace(r.Context()); t != nil {
		t.GotConn(httptrace.GotConnInfo{})
	}
}

// cut fails after the request was sent.
func cut(err error) answerer {
	return func(r *http.Request) (*http.Response, error) { connected(r); return nil, err }
}

// unsent fails before the request was sent.
func unsent(err error) answerer {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// half fails in the middle of the response.
func half(r *http.Request) (*http.Response, error) {
	resp, _ := replies(200, "")(r)
	resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"a`), broke{}))
	return resp, nil
}

type broke struct{}

func (broke) Read([]byte) (int, error) { return 0, syscall.ECONNRESET }

// silent never responds.
func silent(r *http.Request) (*http.Response, error) {
	connected(r)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

var (
	reset   = &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	dialing = &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	fine    = replies(200, `{"fine":true}`)
)

// live returns an object as the server has it, created n seconds from now.
func live(n int, data string) answerer {
	return func(r *http.Request) (*http.Response, error) {
		made := time.Now().Add(time.Duration(n) * time.Second).UTC().Format(time.RFC3339)
		return replies(200, `{"metadata":{"name":"a","creationTimestamp":"`+made+`","labels":{"l":"1","more":"x"}},"data":{"k":"`+data+`"}}`)(r)
	}
}

const sentObject = `{"metadata":{"name":"a","labels":{"l":"1"}},"data":{"k":"v"},"spec":{"x":1}}`

func TestCallRetries(t *testing.T) {
	exists := refusal(409, "AlreadyExists")
	for name, c := range map[string]struct {
		method string
		body   string
		script []answerer
		asked  int
		says   string // part of the error, "" for success
		within time.Duration
	}{
		"a read whose connection is reset":             {"GET", "", []answerer{cut(reset), cut(io.EOF), fine}, 3, "", 2 * time.Second},
		"a read whose answer breaks off":               {"GET", "", []answerer{half, fine}, 2, "", time.Second},
		"a read that is never answered":                {"GET", "", []answerer{silent, fine}, 2, "", 66 * time.Second},
		"a server that is never there again":           {"GET", "", []answerer{cut(reset)}, 0, "connection reset by peer (tried ", 31 * time.Second},
		"a busy server that says when":                 {"GET", "", []answerer{refusal(429, "TooManyRequests", "Retry-After", "7"), fine}, 2, "", 8 * time.Second},
		"a busy server that says never":                {"GET", "", []answerer{refusal(429, "TooManyRequests", "Retry-After", "9999")}, 2, "TooManyRequests (tried 2 times in 30s)", 31 * time.Second},
		"a gateway without a server":                   {"PATCH", "{}", []answerer{replies(502, "bad gateway"), replies(503, "no"), replies(504, "slow"), fine}, 4, "", 4 * time.Second},
		"a server with a mishap":                       {"PUT", "{}", []answerer{refusal(500, "InternalError"), fine}, 2, "", time.Second},
		"a server with the same mishap always":         {"PUT", "{}", []answerer{refusal(500, "InternalError")}, 4, "InternalError (tried 4 times", 4 * time.Second},
		"what cannot be applied":                       {"PATCH", "{}", []answerer{refusal(500, "failed to create typed patch object (n/a; v1): duplicate entries")}, 1, "duplicate entries", 0},
		"what is refused":                              {"PUT", "{}", []answerer{refusal(409, "Conflict")}, 1, "Conflict", 0},
		"what is forbidden":                            {"GET", "", []answerer{refusal(403, "Forbidden")}, 1, "Forbidden", 0},
		"what is invalid":                              {"POST", sentObject, []answerer{refusal(422, "Invalid")}, 1, "Invalid", 0},
		"who is not known":                             {"GET", "", []answerer{refusal(401, "Unauthorized")}, 1, "log in again", 0},
		"what is not there":                            {"DELETE", "", []answerer{refusal(404, "NotFound")}, 1, "NotFound", 0},
		"a server that was never there":                {"GET", "", []answerer{unsent(dialing)}, 1, "connection refused", 0},
		"a server that went away":                      {"GET", "", []answerer{refusal(503, ""), unsent(dialing), unsent(dialing), fine}, 4, "", 4 * time.Second},
		"a certificate that is wrong":                  {"GET", "", []answerer{cut(errors.New("x509: certificate signed by unknown authority"))}, 1, "x509", 0},
		"a deletion whose answer was lost":             {"DELETE", "", []answerer{cut(reset), refusal(404, "NotFound")}, 2, "", time.Second},
		"a deletion that was answered with busy":       {"DELETE", "", []answerer{refusal(429, ""), refusal(404, "NotFound")}, 2, "NotFound", time.Second},
		"a creation that was not sent":                 {"POST", sentObject, []answerer{unsent(io.EOF), fine}, 2, "", time.Second},
		"a creation that was not sent, and is refused": {"POST", sentObject, []answerer{unsent(io.EOF), exists}, 2, "AlreadyExists", time.Second},
		"a creation that was not done":                 {"POST", sentObject, []answerer{refusal(429, ""), refusal(503, "", "Retry-After", "1"), fine}, 3, "", 4 * time.Second},
		"a creation that was not done, and is refused": {"POST", sentObject, []answerer{refusal(429, ""), exists}, 2, "AlreadyExists", time.Second},
		"a creation whose answer was lost":             {"POST", sentObject, []answerer{cut(reset), exists, live(0, "v")}, 3, "", time.Second},
		"a creation whose answer broke off":            {"POST", sentObject, []answerer{half, exists, live(-1, "v")}, 3, "", time.Second},
		"a creation that was lost before it was done":  {"POST", sentObject, []answerer{cut(reset), fine}, 2, "", time.Second},
		"a creation in the way of which is another":    {"POST", sentObject, []answerer{cut(reset), exists, live(0, "other")}, 3, "AlreadyExists", time.Second},
		"a creation in the way of which is an old one": {"POST", sentObject, []answerer{cut(reset), exists, live(-60, "v")}, 3, "AlreadyExists", time.Second},
		"a creation of no name whose answer was lost":  {"POST", `{"metadata":{"generateName":"a-"}}`, []answerer{cut(reset)}, 1, "connection reset", 0},
		"a creation of no name that was not done":      {"POST", `{"metadata":{"generateName":"a-"}}`, []answerer{refusal(429, ""), fine}, 2, "", time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				tr := &trip{script: c.script, began: began}
				client := New(Options{REST: func() (*rest.Config, error) { return &rest.Config{Host: "http://x", Transport: tr}, nil }})
				var body []byte
				if c.body != "" {
					body = []byte(c.body)
				}
				_, err := client.Call(t.Context(), c.method, pathFor(c.method), nil, nil, body)
				took := time.Since(began)
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v", err)
				}
				if c.asked != 0 && len(tr.asked) != c.asked || took > c.within {
					t.Errorf("asked %q, at %v, in %s", tr.asked, tr.at, took)
				}
			})
		})
	}
}

func TestCallRetriesReviews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &trip{script: []answerer{cut(reset), fine}}
		c := New(Options{REST: func() (*rest.Config, error) { return &rest.Config{Host: "http://x", Transport: tr}, nil }})
		if _, err := c.Call(t.Context(), "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", nil, nil, []byte(`{"spec":{}}`)); err != nil {
			t.Error(err)
		}
	})
}

func TestRetryEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &trip{script: []answerer{refusal(503, "ServiceUnavailable")}}
		rec := &apitest.Recorder{}
		c := New(Options{REST: func() (*rest.Config, error) { return &rest.Config{Host: "http://x", Transport: tr}, nil }, Progress: rec.Record})
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		defer cancel()
		began := time.Now()
		_, err := c.Call(ctx, "GET", "/version", nil, nil, nil)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 9*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if len(rec.Events) != 1 || rec.Events[0].Kind != progress.Step || !strings.Contains(rec.Events[0].Text, "retrying: ServiceUnavailable") {
			t.Errorf("told %v", rec.Events)
		}
		var tries *RetryError
		_, err = c.Call(t.Context(), "GET", "/version", nil, nil, nil)
		if !errors.As(err, &tries) || tries.Attempts < 8 || tries.Attempts > 20 || !apierrors.IsServiceUnavailable(err) {
			t.Errorf("got %v", err)
		}
		n := len(tr.asked)
		if _, err := c.WithoutRetry().Call(t.Context(), "GET", "/version", nil, nil, nil); err == nil || len(tr.asked) != n+1 {
			t.Errorf("an impatient one asked %d times: %v", len(tr.asked)-n, err)
		}
	})
}

// Real connections fail in more ways.
func TestCallBrokenConnections(t *testing.T) {
	for name, breaks := range map[string]func(net.Conn){
		"reset":  func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0); _ = c.Close() },
		"closed": func(c net.Conn) { _ = c.Close() },
		"closed in the header": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Le")
			_ = c.Close()
		},
		"closed in the body": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
			_ = c.Close()
		},
		"closed in a chunk": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{")
			_ = c.Close()
		},
	} {
		for _, method := range []string{"GET", "PUT", "DELETE", "POST"} {
			t.Run(name+" "+method, func(t *testing.T) {
				t.Parallel()
				times := 0
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if times++; times > 2 {
						apitest.Text(`{"fine":true}`)(w, r)
						return
					}
					conn, _, err := w.(http.Hijacker).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					breaks(conn)
				}))
				defer s.Close()
				c := New(Options{REST: func() (*rest.Config, error) { return &rest.Config{Host: s.URL}, nil }})
				got, err := c.Call(t.Context(), method, pathFor(method), nil, nil, []byte(sentObject))
				if err != nil || string(got) != `{"fine":true}` {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
	}
}

// pathFor returns a path for requests of a method: that of an object for changes.
func pathFor(method string) string {
	const secrets = "/api/v1/namespaces/n/secrets"
	if method == http.MethodGet || method == http.MethodPost {
		return secrets
	}
	return secrets + "/x"
}
