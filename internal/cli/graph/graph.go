// SPDX-License-Identifier: Apache-2.0

// Package graph provides the commands that draw the dependencies of a chart, and the order in which
// the objects of a release are applied.
package graph

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// New creates the command and its subcommands.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Draw a chart's dependencies or a release's order",
		Long: `Draw the dependencies of a chart, or the order in which the objects of a release
are applied: as text, as DOT for Graphviz, as Mermaid for Markdown, or as SVG.`,
		Example: `  helm graph chart ./umbrella
  helm graph chart ./umbrella -o svg >dependencies.svg
  helm graph release web -o mermaid`,
		Annotations: map[string]string{cmdutil.NotInHelm: ""},
		Args:        cmdutil.Group,
		RunE:        func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newChart(f), newRelease(f))
	return cmd
}

// format is the value of --output.
type format string

const (
	asText    format = "text"
	asDOT     format = "dot"
	asMermaid format = "mermaid"
	asSVG     format = "svg"
)

// String implements pflag.Value.
func (o *format) String() string { return string(*o) }

// Set implements pflag.Value.
func (o *format) Set(s string) error {
	switch format(s) {
	case asText, asDOT, asMermaid, asSVG:
		*o = format(s)
		return nil
	}
	return fmt.Errorf("invalid format type, must be text, dot, mermaid or svg")
}

// Type implements pflag.Value.
func (o *format) Type() string { return "drawing" }

// bind registers --output, with its completion.
func (o *format) bind(cmd *cobra.Command) {
	*o = asText
	cmd.Flags().VarP(o, "output", "o", "output `format`: text, dot, mermaid or svg")
	// The flag exists: it is registered one line above.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{
		string(asText) + "\ta table", string(asDOT) + "\tfor Graphviz", string(asMermaid) + "\tfor Markdown",
		string(asSVG) + "\tan image",
	}, cobra.ShellCompDirectiveNoFileComp))
}

// drawing is a directed graph in layers.
type drawing struct {
	title string
	nodes []*node
	edges []edge
}

// node is a box of a drawing.
type node struct {
	// lines are the text; the first is the name.
	lines []string
	class class
	layer int

	x, y, width, height int // in SVG
}

// edge is an arrow between nodes, given by their index.
type edge struct{ from, to int }

// class is how a node is drawn.
type class string

const (
	plain   class = "plain"
	current class = "current" // of a dependency: nothing newer is known
	old     class = "old"     // there is a newer version
	missing class = "missing" // it is not there, or a wrong version
	off     class = "off"     // switched off by default
)

// maxNodes is the maximum number of boxes of a drawing.
const maxNodes = 2000

// add adds a node, and returns its index.
func (d *drawing) add(n *node) int {
	d.nodes = append(d.nodes, n)
	return len(d.nodes) - 1
}

// text returns the drawing in a format other than text.
func (d *drawing) text(o format) string {
	switch o {
	case asDOT:
		return d.dot()
	case asMermaid:
		return d.mermaid()
	}
	return d.svg()
}
