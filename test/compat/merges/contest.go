// SPDX-License-Identifier: Apache-2.0

package merges

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/apiserver"
)

// Contestant is a binary with flags that installs and upgrades.
type Contestant struct {
	Name    string
	Bin     string
	Install []string // flags
	Upgrade []string
}

// Arena is the environment of contestants.
type Arena struct {
	Server     *apiserver.Client
	Kubeconfig string
	Home       string // home directory of the programs
	Dir        string // for charts
}

// Outcome is the result of a triple.
type Outcome struct {
	Error string         // error of the upgrade
	Live  map[string]any // before the upgrade, including the edits of another client
	After map[string]any
}

const manager = "another-client"

func (a *Arena) get(ctx context.Context, method, path, contentType string, body any) (map[string]any, int, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, 0, err
	}
	answer, code, err := a.Server.Call(ctx, method, "/"+path, contentType, string(text))
	if err != nil {
		return nil, 0, err
	}
	var out map[string]any
	if err := json.Unmarshal(answer, &out); err != nil {
		return nil, code, fmt.Errorf("%s %s: %d: %w", method, path, code, err)
	}
	return out, code, nil
}

// Namespace creates a namespace. Remove deletes it.
func (a *Arena) Namespace(ctx context.Context) (string, error) {
	name := fmt.Sprintf("merges-%08x", rand.Uint32())
	out, code, err := a.get(ctx, http.MethodPost, "api/v1/namespaces", "application/json",
		map[string]any{"metadata": map[string]any{"name": name}})
	if err == nil && code != http.StatusCreated {
		err = fmt.Errorf("create namespace %s: %v", name, out["message"])
	}
	return name, err
}

// Remove deletes a namespace without waiting.
func (a *Arena) Remove(ctx context.Context, namespace string) {
	_, _, _ = a.get(ctx, http.MethodDelete, "api/v1/namespaces/"+namespace, "application/json", nil)
}

// Valid reports whether the server would create both objects of a triple. Other triples do not
// test merging.
func (a *Arena) Valid(ctx context.Context, namespace string, t *Triple) (bool, error) {
	for _, o := range []map[string]any{t.Old, t.New} {
		_, code, err := a.get(ctx, http.MethodPost, fmt.Sprintf(t.Kind.path,
			namespace)+"?dryRun=All&fieldValidation=Strict", "application/json", o)
		if err != nil || code != http.StatusCreated {
			return false, err
		}
	}
	return true, nil
}

// chart writes a chart with one object for each triple.
func (a *Arena) chart(triples []*Triple, object func(*Triple) map[string]any) (string, error) {
	dir, err := os.MkdirTemp(a.Dir, "chart-")
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(filepath.Join(dir, "templates"), 0o755); err != nil {
		return "", err
	}
	files := map[string]string{"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n"}
	for _, t := range triples {
		text, err := json.MarshalIndent(object(t), "", " ")
		if err != nil {
			return "", err
		}
		files[filepath.Join("templates", t.Name+".yaml")] = string(text) + "\n"
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func (a *Arena) run(ctx context.Context, c *Contestant, namespace string, args ...string) error {
	cmd := exec.CommandContext(ctx, c.Bin, append(args, "--namespace", namespace, "--timeout", "60s")...)
	cmd.Env = []string{"HOME=" + a.Home, "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + a.Kubeconfig}
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, text.String())
	}
	return nil
}

// Upgrade lets a contestant install the old chart, applies the edits, and lets the contestant
// upgrade to the new chart, in a new namespace.
func (a *Arena) Upgrade(ctx context.Context, c *Contestant, triples []*Triple) (map[*Triple]*Outcome, error) {
	namespace, err := a.Namespace(ctx)
	if err != nil {
		return nil, err
	}
	defer a.Remove(ctx, namespace)
	before, err := a.chart(triples, func(t *Triple) map[string]any { return t.Old })
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(before)
	after, err := a.chart(triples, func(t *Triple) map[string]any { return t.New })
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(after)
	out := map[*Triple]*Outcome{}
	if err := a.run(ctx, c, namespace, append([]string{"install", "rel", before}, c.Install...)...); err != nil {
		for _, t := range triples {
			out[t] = &Outcome{Error: "install: " + err.Error()}
		}
		return out, nil
	}
	for _, t := range triples {
		live, err := a.edit(ctx, namespace, t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		out[t] = &Outcome{Live: live}
	}
	failed := a.run(ctx, c, namespace, append([]string{"upgrade", "rel", after}, c.Upgrade...)...)
	for _, t := range triples {
		o, _, err := a.get(ctx, http.MethodGet, fmt.Sprintf(t.Kind.path, namespace)+"/"+t.Name, "", nil)
		if err != nil {
			return nil, err
		}
		out[t].After = o
		if failed != nil {
			out[t].Error = failed.Error()
		}
	}
	return out, nil
}

// Reference applies the old and the new objects with server-side apply and returns the server's
// results. A null that the server rejects has no result.
func (a *Arena) Reference(ctx context.Context, triples []*Triple) (map[*Triple]*Outcome, error) {
	namespace, err := a.Namespace(ctx)
	if err != nil {
		return nil, err
	}
	defer a.Remove(ctx, namespace)
	out := map[*Triple]*Outcome{}
	for _, t := range triples {
		o, err := a.apply(ctx, namespace, t, t.Old)
		if err != nil {
			return nil, err
		}
		if o.Error == "" {
			live, err := a.edit(ctx, namespace, t)
			if err != nil {
				return nil, err
			}
			if o, err = a.apply(ctx, namespace, t, t.New); err != nil {
				return nil, err
			}
			o.Live = live
		}
		out[t] = o
	}
	return out, nil
}

// apply applies an object with the metadata of a release.
func (a *Arena) apply(ctx context.Context, namespace string, t *Triple, object map[string]any) (*Outcome, error) {
	path := fmt.Sprintf(t.Kind.path, namespace) + "/" + t.Name + "?force=true&fieldManager=reference"
	object = clone(object).(map[string]any)
	meta := object["metadata"].(map[string]any)
	for _, l := range []struct{ of, key, value string }{
		{"labels", "app.kubernetes.io/managed-by", "Helm"}, {"annotations", "meta.helm.sh/release-name", "rel"},
		{"annotations", "meta.helm.sh/release-namespace", namespace},
	} {
		m, ok := meta[l.of].(map[string]any)
		if !ok {
			m = map[string]any{}
			meta[l.of] = m
		}
		m[l.key] = l.value
	}
	var out map[string]any
	for range 2 {
		var code int
		var err error
		out, code, err = a.get(ctx, http.MethodPatch, path, "application/apply-patch+yaml", object)
		if err != nil {
			return nil, err
		}
		if code == http.StatusOK || code == http.StatusCreated {
			return &Outcome{After: out}, nil
		}
		deleteNulls(object)
	}
	return &Outcome{Error: fmt.Sprint(out["message"])}, nil
}

func deleteNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, e any) bool { return e == nil })
		for _, e := range v {
			deleteNulls(e)
		}
	case []any:
		for _, e := range v {
			deleteNulls(e)
		}
	}
}

// edit changes the live object of a triple like another client. It ignores an edit that the
// server rejects.
func (a *Arena) edit(ctx context.Context, namespace string, t *Triple) (map[string]any, error) {
	path := fmt.Sprintf(t.Kind.path, namespace) + "/" + t.Name
	for range 5 {
		live, code, err := a.get(ctx, http.MethodGet, path, "", nil)
		if err != nil || code != http.StatusOK {
			return nil, fmt.Errorf("get %s: %d %v %w", path, code, live["message"], err)
		}
		edited, code, err := a.get(ctx, http.MethodPut, path+"?fieldManager="+url.QueryEscape(manager),
			"application/json", t.Edit(live))
		switch {
		case err != nil:
			return nil, err
		case code == http.StatusOK:
			return edited, nil
		case code == http.StatusConflict: // a controller has changed the object
			continue
		}
		return live, nil
	}
	return nil, fmt.Errorf("put %s: conflicts all the time", path)
}

// named matches the objects in the message of a failed upgrade.
var named = regexp.MustCompile(`\bo\d+\b`)

// Blamed returns the triples that the error names.
func Blamed(triples []*Triple, outcomes ...map[*Triple]*Outcome) []*Triple {
	names := map[string]bool{}
	for _, o := range outcomes {
		for _, out := range o {
			for _, name := range named.FindAllString(out.Error, -1) {
				names[name] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(triples), func(t *Triple) bool { return !names[t.Name] })
}

// normal returns an object without fields that differ between namespaces.
func normal(o *Outcome) map[string]any {
	if o.After == nil || o.After["kind"] == "Status" {
		return map[string]any{"gone": true}
	}
	out := clone(o.After).(map[string]any)
	delete(out, "status")
	meta, _ := out["metadata"].(map[string]any)
	for _, k := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields",
		"namespace", "selfLink"} {
		delete(meta, k)
	}
	if notes, ok := meta["annotations"].(map[string]any); ok {
		for _, k := range []string{"meta.helm.sh/release-namespace", "deployment.kubernetes.io/revision",
			"deprecated.daemonset.template.generation", "moonhelm.github.io/hook-of"} {
			delete(notes, k)
		}
	}
	s, _ := out["spec"].(map[string]any)
	switch out["kind"] {
	case "Service":
		for _, k := range []string{"clusterIP", "clusterIPs"} {
			if s[k] != nil {
				s[k] = "one"
			}
		}
		nodePorts(s, o.Live)
	case "Job":
		delete(s, "selector")
		deleteMatching(out, "controller-uid")
	}
	return out
}

// nodePorts replaces each node port by its owner before the upgrade.
func nodePorts(s map[string]any, live map[string]any) {
	was := map[any]string{}
	for _, p := range ports(live["spec"]) {
		was[p["nodePort"]] = fmt.Sprint(p["port"], "/", p["protocol"])
	}
	for _, p := range ports(s) {
		if n, ok := p["nodePort"]; ok {
			p["nodePort"] = "new"
			if of, ok := was[n]; ok {
				p["nodePort"] = "of " + of
			}
		}
	}
}

func ports(spec any) []map[string]any {
	s, _ := spec.(map[string]any)
	list, _ := s["ports"].([]any)
	var out []map[string]any
	for _, p := range list {
		if p, ok := p.(map[string]any); ok {
			out = append(out, p)
		}
	}
	return out
}

func deleteMatching(v any, part string) {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(k string, _ any) bool { return strings.Contains(k, part) })
		for _, e := range v {
			deleteMatching(e, part)
		}
	case []any:
		for _, e := range v {
			deleteMatching(e, part)
		}
	}
}
