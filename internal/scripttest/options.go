// SPDX-License-Identifier: Apache-2.0

package scripttest

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/yaml"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// options are those of run.
type options struct {
	request action.RehearsalRequest
	http    map[string]any // by "URL" or "METHOD URL"
}

// known are the names of options.
var known = []string{"values", "release", "capabilities", "cluster", "objects", "http", "results", "command"}

// parseOptions reads the options of run.
func parseOptions(in map[string]any) (*options, error) {
	o := &options{request: action.RehearsalRequest{Name: "release-name", Namespace: "default"}}
	for _, key := range slices.Sorted(maps.Keys(in)) {
		if err := o.set(key, in[key]); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return o, nil
}

func (o *options) set(key string, v any) error {
	switch key {
	case "values":
		return into(v, &o.request.Values)
	case "http":
		return into(v, &o.http)
	case "command":
		return into(v, &o.request.Command)
	case "release":
		return each(v, map[string]func(any) error{
			"name":      func(v any) error { return into(v, &o.request.Name) },
			"namespace": func(v any) error { return into(v, &o.request.Namespace) },
			"revision": func(v any) error {
				var n int64
				err := into(v, &n)
				o.request.Revision = int(n)
				return err
			},
		})
	case "capabilities":
		return each(v, map[string]func(any) error{
			"kubernetesVersion": func(v any) error { return into(v, &o.request.KubeVersion) },
			"apiVersions": func(v any) (err error) {
				o.request.APIVersions, err = texts(v)
				return err
			},
		})
	case "cluster":
		objects, err := tables(v)
		c := &cluster{objects: objects, namespace: &o.request.Namespace}
		o.request.Lookup = c.lookup
		return err
	case "objects":
		return o.setObjects(v)
	case "results":
		list, err := tables(v)
		for _, m := range list {
			name, _ := m["name"].(string)
			kind, _ := m["kind"].(string)
			phase, _ := m["phase"].(string)
			o.request.Results = append(o.request.Results, event.TestResult{Name: name, Kind: kind,
				Phase: release.Phase(phase)})
		}
		return err
	}
	return unknownOption(known, key)
}

func unknownOption(known []string, key string) error {
	if near := suggest.Nearest(known, key); len(near) > 0 {
		return fmt.Errorf("unknown option; did you mean %q?", near[0])
	}
	return fmt.Errorf("unknown option; the options are %s", strings.Join(known, ", "))
}

// each sets the fields of a table.
func each(v any, fields map[string]func(any) error) error {
	m, err := table(v)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		set := fields[key]
		if set == nil {
			return fmt.Errorf("%s: %w", key, unknownOption(slices.Sorted(maps.Keys(fields)), key))
		}
		if err := set(m[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// setObjects makes the objects of a list of tables.
func (o *options) setObjects(v any) error {
	list, err := tables(v)
	if err != nil {
		return err
	}
	o.request.Objects = []*manifest.Object{}
	for i, m := range list {
		text, err := yaml.Marshal(m)
		if err != nil {
			return fmt.Errorf("object %d: %w", i+1, err)
		}
		objects, err := manifest.Parse("test", string(text))
		if err != nil {
			return fmt.Errorf("object %d: %w", i+1, err)
		}
		o.request.Objects = append(o.request.Objects, objects...)
	}
	return nil
}

// into sets to, whose type says what v must be.
func into[T any](v any, to *T) error {
	if list, ok := v.([]any); ok && len(list) == 0 { // an empty table
		v = map[string]any{}
	}
	got, ok := v.(T)
	if !ok {
		return fmt.Errorf("is a %s, want a %s", kind(v), kind(*to))
	}
	*to = got
	return nil
}

func kind(v any) string {
	switch v.(type) {
	case string:
		return "text"
	case int64, float64, int:
		return "number"
	case bool:
		return "boolean"
	case nil:
		return "null"
	}
	return "table"
}

func table(v any) (m map[string]any, err error) {
	err = into(v, &m)
	return m, err
}

// listOf returns a list, which may be an empty table.
func listOf(v any) ([]any, error) {
	if m, ok := v.(map[string]any); ok && len(m) == 0 {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("is a %s, want a list", kind(v))
	}
	return list, nil
}

func tables(v any) ([]map[string]any, error) {
	list, err := listOf(v)
	out := make([]map[string]any, len(list))
	for i := range list {
		if err == nil {
			out[i], err = table(list[i])
		}
	}
	return out, err
}

func texts(v any) ([]string, error) {
	list, err := listOf(v)
	out := make([]string, len(list))
	for i := range list {
		if err == nil {
			err = into(list[i], &out[i])
		}
	}
	return out, err
}

// cluster is what lookups find.
type cluster struct {
	objects   []map[string]any
	namespace *string // of the release
}

// lookup is kube.lookup, and the function lookup of templates.
func (c *cluster) lookup(apiVersion, kind, namespace, name string) (map[string]any, error) {
	items := []any{}
	for _, o := range c.objects {
		meta, _ := o["metadata"].(map[string]any)
		in, _ := meta["namespace"].(string)
		if in == "" && namespace != "" {
			in = cmp.Or(*c.namespace, namespace)
		}
		if o["apiVersion"] != apiVersion || o["kind"] != kind || namespace != "" && in != namespace {
			continue
		}
		if name != "" && meta["name"] == name {
			return o, nil
		}
		items = append(items, o)
	}
	if name != "" || len(items) == 0 {
		return map[string]any{}, nil
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kind + "List", "items": items}, nil
}

// maxBody is the largest request of a script that a test is shown.
const maxBody = 10 << 20

func copyBody(to io.Writer, from io.ReadCloser) (int64, error) {
	defer from.Close()
	return io.Copy(to, io.LimitReader(from, maxBody))
}

// response makes the answer to a request of a text, or of a table with status, headers and
// body.
func response(req *http.Request, answer any) (*http.Response, error) {
	status, body, headers := int64(http.StatusOK), "", map[string]any{}
	if text, ok := answer.(string); ok {
		body = text
	} else {
		err := each(answer, map[string]func(any) error{
			"status":  func(v any) error { return into(v, &status) },
			"body":    func(v any) error { return into(v, &body) },
			"headers": func(v any) error { return into(v, &headers) },
		})
		if err != nil {
			return nil, fmt.Errorf("http of the test: %w", err)
		}
	}
	h := http.Header{}
	for name, v := range headers {
		h.Set(name, fmt.Sprint(v))
	}
	return &http.Response{StatusCode: int(status), Status: http.StatusText(int(status)), Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		Request: req}, nil
}
