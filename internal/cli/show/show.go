// SPDX-License-Identifier: Apache-2.0

// Package show provides the commands that print parts of a chart. They share everything but the
// part, so they are one package.
package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/jsonpath"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// New creates the command and its subcommands.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show",
		Aliases: []string{"inspect"},
		Short:   "Print parts of a chart",
		Long: `Print parts of a chart: its definition (Chart.yaml), values, README and
CRDs, or all of them. CHART is a directory, an archive, repository/name, the URL of an
archive, or oci://host/path/name. A terminal shows the README's Markdown rendered,
and a heading above each part; HELM_WIDE=true leaves the text as it is.`,
		Example: `  helm show values ./mychart
  helm show chart example/web --version ^1.2
  helm show readme oci://registry.example.com/charts/web`,
		Args: cmdutil.Group,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var path string
	vals := leaf(f, "values", "Print the chart's values", "helm show values ./mychart --jsonpath '{.image}'",
		func(c *chart.Chart) (string, error) {
			return showValues(c, path)
		}, nil)
	vals.Flags().StringVar(&path, "jsonpath", "", "print only the values that match this JSONPath expression")
	cmd.AddCommand(
		leaf(f, "all", "Print all parts of a chart", "helm show all ./mychart", showAll, screenAll),
		leaf(f, "chart", "Print the chart's definition", "helm show chart ./mychart", showChart, nil),
		leaf(f, "crds", "Print the chart's CRDs", "helm show crds ./mychart", showCRDs, nil),
		leaf(f, "readme", "Print the chart's README", "helm show readme ./mychart", showReadme, screenReadme),
		vals,
	)
	return cmd
}

// leaf returns a subcommand that prints text, or what screen makes for a terminal if it is not nil.
func leaf(f *cmdutil.Factory, name, short, example string, text func(*chart.Chart) (string, error),
	screen func(term.Streams, *chart.Chart) (string, error)) *cobra.Command {
	var flags cmdutil.ChartFlags
	cmd := &cobra.Command{
		Use:               name + " CHART",
		Short:             short,
		Example:           "  " + example,
		Args:              cmdutil.Args(1, 1, "a chart: a directory, an archive, repository/name or a URL"),
		ValidArgsFunction: f.CompleteChart(1, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.Chart(cmd.Context(), args[0], &flags)
			if err != nil {
				return err
			}
			var out string
			w := term.SafeWriter(f.Out)
			if screen != nil && output.OnScreen(f.Streams) {
				w = f.ScreenWriter(f.Out) // the text is safe already
				out, err = screen(f.Streams, c)
			} else {
				out, err = text(c)
			}
			if err != nil {
				return err
			}
			noteLibrary(f, c)
			_, err = fmt.Fprint(w, out)
			return err
		},
	}
	flags.Bind(cmd, f)
	return cmd
}

// noteLibrary explains a library chart at a terminal. Programs find "type: library" in the output,
// which must not change.
func noteLibrary(f *cmdutil.Factory, c *chart.Chart) {
	if c.IsLibrary() && term.IsTerminal(f.Err) {
		fmt.Fprintf(f.Err, "%s is a library chart: it cannot be installed; other charts use what it defines.\n",
			term.SafeLine(c.Name()))
	}
}

// showAll concatenates the parts. Each ends with an empty line, as it does on its own: scripts
// compare and split this output by bytes.
func showAll(c *chart.Chart) (string, error) {
	var parts []string
	for _, part := range []func(*chart.Chart) (string, error){
		showChart,
		func(c *chart.Chart) (string, error) { return showValues(c, "") },
		showReadme,
	} {
		text, err := part(c)
		if err != nil {
			return "", err
		}
		if text != "" {
			parts = append(parts, text)
		}
	}
	crds, err := showCRDs(c)
	return strings.Join(parts, "---\n") + crds, err
}

func showChart(c *chart.Chart) (string, error) {
	text, err := yaml.Marshal(c.Metadata)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", chart.FileMetadata, err)
	}
	return string(text) + "\n", nil
}

func showReadme(c *chart.Chart) (string, error) {
	if f := readme(c); f != nil {
		return string(f.Data) + "\n", nil
	}
	return "", nil
}

// readme returns the chart's README, or nil.
func readme(c *chart.Chart) *chart.File {
	for _, want := range []string{"readme.md", "readme.txt", "readme"} {
		for _, f := range c.Files {
			if path.Dir(f.Name) == "." && strings.EqualFold(f.Name, want) {
				return f
			}
		}
	}
	return nil
}

func showCRDs(c *chart.Chart) (string, error) {
	var b strings.Builder
	for _, crd := range c.CRDs() {
		if !bytes.HasPrefix(crd.Data, []byte("---")) {
			b.WriteString("---\n")
		}
		fmt.Fprintf(&b, "%s\n", crd.Data)
	}
	return b.String(), nil
}

// showValues prints values.yaml unchanged, or the values that expr selects.
func showValues(c *chart.Chart, expr string) (string, error) {
	if expr == "" {
		if f := c.File(chart.FileValues); f != nil {
			return string(f.Data) + "\n", nil
		}
		return "", nil
	}
	t, err := jsonpath.Parse(expr, false)
	if err != nil {
		return "", fmt.Errorf("--jsonpath %s: %w", expr, err)
	}
	// package jsonpath supports only plain JSON values.
	text, err := json.Marshal(c.Values)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", chart.FileValues, err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		return "", fmt.Errorf("read %s: %w", chart.FileValues, err)
	}
	var b strings.Builder
	if err := t.Print(&b, plain); err != nil {
		return "", fmt.Errorf("--jsonpath %s: %w", expr, err)
	}
	return b.String(), nil
}
