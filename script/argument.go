// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"

	"github.com/moonhelm/moonhelm/engine/common"
)

// arguments are what a template gives to a script's function. The root context is sent as
// its fields are looked at: it has all values and files.
type arguments struct {
	nodes    nodes
	values   []any
	contents []any
}

// newArguments returns an error for an argument that scripts have no form of.
func newArguments(args []any) (*arguments, error) {
	a := &arguments{nodes: nodes{}, values: make([]any, len(args)), contents: []any{}}
	for i, arg := range args {
		v, err := a.value(arg)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w: scripts take text, numbers, booleans, lists, maps and the root "+
				"context ($)", i+1, err)
		}
		a.values[i] = v
	}
	return a, nil
}

func (a *arguments) value(v any) (any, error) {
	if values, ok := v.(common.Values); ok {
		v = map[string]any(values)
	}
	if m, ok := v.(map[string]any); ok && isRoot(m) {
		return a.root(m)
	}
	return plain(v, false, 0)
}

// isRoot reports whether m is the root context of a chart's templates.
func isRoot(m map[string]any) bool {
	_, ok := m["Capabilities"].(*common.Capabilities)
	return ok
}

// root returns the Ref of a root context, and adds what is small of it to the contents.
func (a *arguments) root(m map[string]any) (any, error) {
	n := a.rootNode(m, "$")
	ref := a.nodes.ref(n)
	contents, err := a.nodes.contents(n, maxInline, true)
	a.contents = append(a.contents, contents...)
	return ref, err
}

func (a *arguments) rootNode(m map[string]any, title string) *node {
	n := &node{title: title, value: m}
	n.inner = func(key string, v any) *node {
		switch key {
		case "Files":
			files := &node{parent: n, key: key}
			files.fetch = func() (any, error) { return plain(v, false, 0) }
			return files
		case "Subcharts":
			return a.subcharts(n, v)
		}
		return nil
	}
	return n
}

// subcharts returns the node of .Subcharts, whose elements are root contexts too.
func (a *arguments) subcharts(root *node, v any) *node {
	all, _ := v.(map[string]any)
	n := &node{value: all, parent: root, key: "Subcharts"}
	n.inner = func(key string, v any) *node {
		m, ok := v.(common.Values)
		if !ok {
			return nil
		}
		return a.rootNode(m, root.name()+".Subcharts."+key)
	}
	return n
}

// capabilitiesOf returns .Capabilities as scripts see it.
func capabilitiesOf(c *common.Capabilities) map[string]any {
	if c == nil {
		c = &common.Capabilities{}
	}
	return map[string]any{
		"APIVersions": texts(c.APIVersions),
		"KubeVersion": map[string]any{"Version": c.KubeVersion.Version, "Major": c.KubeVersion.Major,
			"Minor": c.KubeVersion.Minor, "GitVersion": c.KubeVersion.GitVersion()},
		"HelmVersion": map[string]any{"Version": c.HelmVersion.Version, "GitCommit": c.HelmVersion.GitCommit,
			"GitTreeState": c.HelmVersion.GitTreeState, "GoVersion": c.HelmVersion.GoVersion},
	}
}
