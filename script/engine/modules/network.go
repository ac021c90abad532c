// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"maps"
	"math"
	"slices"

	"github.com/moonhelm/moonhelm/script/wire"
)

func (m *module) networkFunctions() []function {
	return []function{
		{
			Function: Function{Name: "http.get", Signature: "http.get(url[, options]) → response", Permission: Network,
				Text: "Gets a URL. Options: headers (a table), timeout (seconds). The response has status, headers and body; a " +
					"status of 400 and more is not an error."},
			args: 2, do: func(c *call) error { return c.shortRequest("GET", 1) },
		},
		{
			Function: Function{Name: "http.post", Signature: "http.post(url, body[, options]) → response", Permission: Network,
				Text: "Posts a text to a URL. Options and response as with http.get."},
			args: 3, do: func(c *call) error { return c.shortRequest("POST", 2) },
		},
		{
			Function: Function{Name: "http.request", Signature: "http.request(request) → response", Permission: Network,
				Text: "Makes a request from a table with url, method (GET where it is left out), headers, " +
					"body and timeout (seconds)."},
			args: 1, do: func(c *call) error {
				if _, err := c.table(0); err != nil {
					return err
				}
				body := map[string]any{"method": "GET"}
				if err := c.options(0, body, "url", "method", "headers", "body", "timeout"); err != nil {
					return err
				}
				if body["url"] == nil {
					return c.wrong(0, "a request needs a url")
				}
				return c.request(body)
			},
		},
		{
			Function: Function{Name: "net.lookup", Signature: "net.lookup(host) → list", Permission: Network,
				Text: "The addresses of a host name."},
			args: 1, do: func(c *call) error {
				name, err := c.text(0)
				if err != nil {
					return err
				}
				answer, err := c.ask(wire.Host, map[string]any{"name": name})
				if err != nil {
					return err
				}
				return c.giveData(answer["addresses"])
			},
		},
	}
}

// shortRequest is http.get and http.post: a URL, for post a body, and options.
func (c *call) shortRequest(method string, options int) error {
	url, err := c.text(0)
	if err != nil {
		return err
	}
	body := map[string]any{"method": method, "url": url}
	if method == "POST" {
		if body["body"], err = c.text(1); err != nil {
			return err
		}
	}
	if !c.arg(options).IsNil() {
		if err := c.options(options, body, "headers", "timeout"); err != nil {
			return err
		}
	}
	return c.request(body)
}

// options adds the fields of the table in argument i to body. Unknown fields and wrong types
// are errors.
func (c *call) options(i int, body map[string]any, known ...string) error {
	if _, err := c.table(i); err != nil {
		return err
	}
	v, err := c.data(i)
	if err != nil {
		return err
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return c.wrong(i, "a table with names expected, got a list")
	}
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, k) {
			return c.wrong(i, "no such field: %s; there are %v", clip(k), known)
		}
		switch v := fields[k]; k {
		case "timeout":
			seconds, ok := seconds(v)
			if !ok {
				return c.wrong(i, "timeout is a number of seconds above 0")
			}
			body[k] = seconds
		case "headers":
			if !isHeaders(v) {
				return c.wrong(i, "headers is a table of text by name")
			}
			body[k] = v
		default:
			if _, ok := v.(string); !ok {
				return c.wrong(i, "%s is text", k)
			}
			body[k] = v
		}
	}
	return nil
}

// seconds returns a timeout in milliseconds.
func seconds(v any) (int64, bool) {
	var s float64
	switch v := v.(type) {
	case int64:
		s = float64(v)
	case float64:
		s = v
	}
	if s <= 0 || s > 86400 {
		return 0, false
	}
	return int64(math.Ceil(s * 1000)), true
}

func isHeaders(v any) bool {
	headers, ok := v.(map[string]any)
	for _, e := range headers {
		if _, text := e.(string); !text {
			return false
		}
	}
	return ok
}

func (c *call) request(body map[string]any) error {
	answer, err := c.ask(wire.HTTP, body)
	if err != nil {
		return err
	}
	return c.giveData(map[string]any{"status": answer["status"], "headers": answer["headers"], "body": answer["body"]})
}

// ask asks the host on behalf of the chart.
func (c *call) ask(kind wire.Kind, body map[string]any) (map[string]any, error) {
	if c.o.Ask == nil {
		return nil, c.fail("there is no network here")
	}
	body["chart"] = int64(c.o.Chart)
	size := uint64(256)
	for _, v := range body {
		if s, ok := v.(string); ok {
			size += uint64(len(s))
		}
	}
	c.spend(1000 + size/8)
	c.borrow(2 * size)
	answer, err := c.o.Ask(kind, body)
	if err != nil {
		return nil, c.fail("%w", err)
	}
	return answer, nil
}
