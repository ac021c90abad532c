// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// EditVersions returns the text of a Chart.yaml with its version and appVersion
// replaced, and everything else, comments too, as it was. A value that is
// already there is left alone; an empty one asks for nothing. New values are
// quoted if quoted is set or the old one was. It is an error if the text has no
// place for a value that is simple enough; whether the result reads as wanted
// is for the caller to check.
func EditVersions(text []byte, version, appVersion string, quoted bool) ([]byte, error) {
	out, err := editScalar(text, "version", version, quoted)
	if err != nil {
		return nil, err
	}
	return editScalar(out, "appVersion", appVersion, quoted)
}

func editScalar(text []byte, key, value string, quoted bool) ([]byte, error) {
	if value == "" {
		return text, nil
	}
	root := parseNode(text)
	if root == nil || root.Kind != yaml.MappingNode {
		return nil, errors.New("is not a map")
	}
	_, n := lookup(root, key)
	if n == nil {
		if root.Style&yaml.FlowStyle != 0 {
			return nil, errors.New("is a flow map")
		}
		out := bytes.TrimRight(text, "\n")
		return fmt.Appendf(out[:len(out):len(out)], "\n%s: %q\n", key, value), nil
	}
	if n.Kind == yaml.ScalarNode && n.Value == value && n.ShortTag() == "!!str" {
		return text, nil
	}
	old, ok := map[yaml.Style]string{0: n.Value, yaml.DoubleQuotedStyle: `"` + n.Value + `"`, yaml.SingleQuotedStyle: "'" + n.Value + "'"}[n.Style]
	if !ok || n.Kind != yaml.ScalarNode || n.Anchor != "" || n.Value == "" {
		return nil, fmt.Errorf("%s is not a simple value", key)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if n.Line < 1 || n.Line > len(lines) || n.Column < 1 || n.Column > len(lines[n.Line-1]) {
		return nil, fmt.Errorf("%s is out of reach", key)
	}
	line := string(lines[n.Line-1])
	rest, found := strings.CutPrefix(line[n.Column-1:], old)
	if !found {
		return nil, fmt.Errorf("%s is out of reach", key)
	}
	if quoted || n.Style != 0 {
		value = fmt.Sprintf("%q", value)
	}
	lines[n.Line-1] = []byte(line[:n.Column-1] + value + rest)
	return bytes.Join(lines, nil), nil
}
