// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Bounds of a request of a script.
const (
	defaultTimeout = 30 * time.Second
	maxTimeout     = 5 * time.Minute
	maxResponse    = 10 << 20
	maxRedirects   = 10
)

// fetch makes the HTTP request that a question describes.
func (o Outside) fetch(ctx context.Context, question fields) (map[string]any, error) {
	timeout := defaultTimeout
	if ms := question.number("timeout"); ms > 0 {
		timeout = time.Duration(min(ms, maxTimeout.Milliseconds())) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := newRequest(ctx, question)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: o.Transport, CheckRedirect: checkRedirect}
	resp, err := client.Do(req)
	if err != nil {
		if ctx.Err() == context.DeadlineExceeded {
			return nil, fmt.Errorf("%s %s: no answer within %s", req.Method, req.URL.Redacted(), timeout)
		}
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", req.Method, req.URL.Redacted(), err)
	case len(body) > maxResponse:
		return nil, fmt.Errorf("%s %s: the answer is larger than %d MiB", req.Method, req.URL.Redacted(), maxResponse>>20)
	}
	headers := make(map[string]any, len(resp.Header))
	for name, values := range resp.Header {
		headers[name] = strings.Join(values, ", ")
	}
	return map[string]any{"status": int64(resp.StatusCode), "headers": headers, "body": string(body)}, nil
}

func newRequest(ctx context.Context, question fields) (*http.Request, error) {
	method := strings.ToUpper(question.text("method")) // "" is GET
	req, err := http.NewRequestWithContext(ctx, method, question.text("url"), strings.NewReader(question.text("body")))
	if err != nil {
		return nil, err
	}
	if err := checkURL(req.URL); err != nil {
		return nil, err
	}
	headers, _ := question["headers"].(map[string]any)
	for name, v := range headers {
		text, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("header %q must be text", name)
		}
		req.Header.Set(name, text)
		if strings.EqualFold(name, "host") {
			req.Host = text
		}
	}
	return req, nil
}

func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	return checkURL(req.URL)
}

func checkURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q is not an http or https address", u.Redacted())
	}
	if u.Host == "" {
		return errors.New("the address names no host")
	}
	return nil
}
