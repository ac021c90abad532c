// SPDX-License-Identifier: Apache-2.0

// Package help shows what commands do: [Show] writes the help of one, [New] is the command `helm help`,
// which knows topics beside the commands. Nothing of it is made before it is needed.
package help

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
)

// Show writes the help of cmd to its standard output, as wide as the terminal.
func Show(f *cmdutil.Factory, cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	_, err := io.WriteString(out, Text(cmd, width(out), f.Style(out)))
	return err
}

// Text returns the help of cmd for a terminal of that many columns, or for a file or a program if
// columns is 0: then each flag takes one line.
func Text(cmd *cobra.Command, columns int, style term.Style) string {
	var b bytes.Buffer
	p := &page{out: &b, width: columns, style: style}
	p.description(cmd)
	p.usage(cmd)
	return b.String()
}

// ShowUsage writes the help of cmd without its description to its standard error.
func ShowUsage(cmd *cobra.Command) error {
	out := cmd.OutOrStderr()
	var b bytes.Buffer
	(&page{out: &b, width: width(out)}).usage(cmd)
	_, err := out.Write(b.Bytes())
	return err
}

func (p *page) description(cmd *cobra.Command) {
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	if text = strings.TrimSpace(text); text != "" {
		p.text(text)
		p.println("")
	}
}

func (p *page) usage(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag() // with it, the usage of each command ends in [flags]
	p.heading("Usage")
	if cmd.Runnable() {
		p.code(cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		p.code(cmd.CommandPath() + " [command]")
	}
	if len(cmd.Aliases) > 0 {
		p.println("")
		p.heading("Aliases")
		p.println("  " + cmd.NameAndAliases())
	}
	if cmd.HasExample() {
		p.println("")
		p.heading("Examples")
		p.examples(cmd.Example)
	}
	p.commands(cmd)
	p.groups(cmdutil.FlagGroups(cmd))
	p.more(cmd)
}

// commands lists the commands below cmd.
func (p *page) commands(cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	var rows [][2]string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			rows = append(rows, [2]string{c.Name(), c.Short})
		}
	}
	p.println("")
	p.heading("Available Commands")
	p.table(rows)
}

// more names the global flags and says where help goes on.
func (p *page) more(cmd *cobra.Command) {
	names := globalNames(cmd.Root())
	if len(names) > 0 {
		p.println("")
		p.paragraph("Global flags (see \"helm help flags\"): " + strings.Join(names, ", "))
	}
	if cmd.HasAvailableSubCommands() {
		p.println("")
		p.paragraph(fmt.Sprintf("Use \"%s [command] --help\" for more information about a command.", cmd.CommandPath()))
	}
	if !cmd.HasParent() && cmd.Name() == "helm" {
		p.paragraph("Use \"helm help topics\" for more information about values, the environment and exit codes.")
	}
}

// globalNames returns the global flags that help shows, as they are typed, those that are used most
// first.
func globalNames(root *cobra.Command) []string {
	usual := []string{"namespace", "kube-context", "kubeconfig", "debug"}
	var first, rest []string
	for _, g := range cmdutil.GlobalFlagGroups(root) {
		for _, f := range g.Flags {
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + "/" + name
			}
			if slices.Contains(usual, f.Name) {
				first = append(first, name)
			} else {
				rest = append(rest, name)
			}
		}
	}
	return append(first, rest...)
}
