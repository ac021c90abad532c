// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"maps"
	"math"
	"slices"

	"github.com/moonhelm/moonhelm/script/wire"
)

func networkFunctions() []function {
	return []function{
		fn("http.get", "(url[, options]) → response", "Gets a URL. Options: headers (a table), timeout (seconds). The "+
			"response has status, headers and body; a status of 400 and more is not an error.", 2,
			takesText(func(c *call, url string) error {
				return c.request(map[string]any{"method": "GET", "url": url}, 1, "headers", "timeout")
			})),
		fn("http.post", "(url, body[, options]) → response", "Posts a text to a URL. Options and response as with "+
			"http.get.", 3, takesText(func(c *call, url string) error {
			body, err := c.text(1)
			if err != nil {
				return err
			}
			return c.request(map[string]any{"method": "POST", "url": url, "body": body}, 2, "headers", "timeout")
		})),
		fn("http.request", "(request) → response", "Makes a request from a table with url, method (GET where it is left "+
			"out), headers, body and timeout (seconds).", 1, func(c *call) error {
			if _, err := c.table(0); err != nil {
				return err
			}
			return c.request(map[string]any{"method": "GET"}, 0, "url", "method", "headers", "body", "timeout")
		}),
		fn("net.lookup", "(host) → list", "The addresses of a host name.", 1,
			takesText(func(c *call, name string) error {
				answer, err := c.ask(wire.Host, map[string]any{"name": name})
				if err != nil {
					return err
				}
				return c.giveData(answer["addresses"])
			})),
	}
}

// request makes a request of these fields, and of those known ones that the table in argument
// i has.
func (c *call) request(fields map[string]any, i int, known ...string) error {
	if err := c.options(i, fields, known...); err != nil {
		return err
	}
	if fields["url"] == nil {
		return c.wrong(0, "a request needs a url")
	}
	answer, err := c.ask(wire.HTTP, fields)
	if err != nil {
		return err
	}
	return c.giveData(map[string]any{"status": answer["status"], "headers": answer["headers"], "body": answer["body"]})
}

// options adds the fields of the table in argument i to body, nothing if it is nil. Unknown
// fields and wrong types are errors.
func (c *call) options(i int, body map[string]any, known ...string) error {
	if c.arg(i).IsNil() {
		return nil
	}
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
