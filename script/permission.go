// SPDX-License-Identifier: Apache-2.0

package script

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Names of permissions.
const (
	Network = "network" // HTTP requests, and looking up hosts
	IO      = "io"      // Lua's io library: files, and commands by io.popen
	OS      = "os"      // Lua's os library: environment, clock, commands, removing files
)

// PermissionNames returns the names of all permissions.
func PermissionNames() []string { return []string{Network, IO, OS} }

// describePermission says what a permission allows.
func describePermission(name string) string {
	switch name {
	case Network:
		return "Access the network"
	case IO:
		return "Access the local filesystem"
	case OS:
		return "Access the operating system"
	}
	return ""
}

// Ask is the permissions that the scripts of one chart ask for.
type Ask struct {
	// Chart is the chart's name, as its author wrote it: quote it where it is shown.
	Chart string
	// Path is its path in the tree: "web/charts/mysql".
	Path string
	// Permissions are names of permissions, in the order of the chart's file.
	Permissions []string

	scripts [sha256.Size]byte // what the scripts are that would get them
}

// maxName is how much of a chart's name a question shows: a longer one would
// push the questions about other charts out of sight.
const maxName = 200

// String returns the question for the user, of several lines and safe to be shown, without
// a line end after the last.
func (a Ask) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Chart %s is requesting the following additional permissions:",
		strconv.Quote(truncate.Bytes(a.Chart, maxName, "…")))
	for _, p := range a.Permissions {
		fmt.Fprintf(&b, "\n- %s: %s", p, describePermission(p))
	}
	return b.String()
}

// filePermissions is the file with the permissions that a chart asks for, and maxPermissions
// bounds its size.
const (
	filePermissions = chart.DirExt + "/permissions.yaml"
	maxPermissions  = 64 << 10
)

// Permissions returns the permissions that the chart asks for in ext/permissions.yaml, in
// that file's order: none where it has no such file. Those of the charts below it are not
// among them. The error names the file and the line.
func Permissions(c *chart.Chart) ([]string, error) {
	for _, f := range c.Files {
		if f.Name != filePermissions {
			continue
		}
		names, err := parsePermissions(f.Data)
		if err != nil {
			return nil, fmt.Errorf("chart %s: %w", strconv.Quote(c.Name()), err)
		}
		return names, nil
	}
	return nil, nil
}

// permissionsError is what is wrong with ext/permissions.yaml.
type permissionsError struct {
	line    int // 0 for the whole file
	problem string
}

func (e *permissionsError) Error() string {
	if e.line == 0 {
		return filePermissions + ": " + e.problem
	}
	return fmt.Sprintf("%s:%d: %s", filePermissions, e.line, e.problem)
}

// parsePermissions reads the file. Its errors are [*permissionsError]s.
func parsePermissions(data []byte) ([]string, error) {
	if len(data) > maxPermissions {
		return nil, &permissionsError{0, fmt.Sprintf("is larger than %d KiB", maxPermissions>>10)}
	}
	dec := yaml.NewDecoderV3(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, &permissionsError{0, strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	if err := dec.Decode(&more); err == nil {
		return nil, &permissionsError{0, "holds more than one document"}
	}
	if len(doc.Content) == 0 || isNull(doc.Content[0]) {
		return nil, nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, yamlError(root, "must be a map with the key lua, such as \"lua: [network]\"")
	}
	var list *yaml.Node
	for i := 0; i+1 < len(root.Content); i += 2 {
		key := root.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.Value != "lua":
			return nil, yamlError(key, "%s is not a key of this file; the only one is lua", strconv.Quote(key.Value))
		case list != nil:
			return nil, yamlError(key, "lua is here twice")
		}
		list = root.Content[i+1]
	}
	if list == nil || isNull(list) {
		return nil, nil
	}
	return permissionList(list)
}

func permissionList(list *yaml.Node) ([]string, error) {
	known := strings.Join(PermissionNames(), ", ")
	if list.Kind != yaml.SequenceNode {
		return nil, yamlError(list, "lua must be a list of permissions; known are %s", known)
	}
	var names []string
	for _, n := range list.Content {
		switch {
		case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str":
			return nil, yamlError(n, "lua must hold names of permissions; known are %s", known)
		case !slices.Contains(PermissionNames(), n.Value):
			return nil, yamlError(n, "%s is not a permission; known are %s", strconv.Quote(n.Value), known)
		case slices.Contains(names, n.Value):
			return nil, yamlError(n, "%s is here twice", n.Value)
		}
		names = append(names, n.Value)
	}
	return names, nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func yamlError(n *yaml.Node, format string, args ...any) error {
	return &permissionsError{n.Line, fmt.Sprintf(format, args...)}
}

// CheckPermissionNames returns an error for the first of names that is not a permission.
func CheckPermissionNames(names []string) error {
	for _, n := range names {
		if !slices.Contains(PermissionNames(), n) {
			return fmt.Errorf("%s is not a permission; known are %s", strconv.Quote(n), strings.Join(PermissionNames(), ", "))
		}
	}
	return nil
}
