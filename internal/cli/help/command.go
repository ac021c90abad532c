// SPDX-License-Identifier: Apache-2.0

package help

import (
	"bytes"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/term"
)

// New creates the command `helm help`. unknown returns the error for a word that is neither a command
// nor a topic; near are the similar topics.
func New(f *cmdutil.Factory, root *cobra.Command, unknown func(word string, near []string) error) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Show help for a command or a topic",
		Long: `Show the help of a command, or of one of these topics: values, environment, exit-codes, flags.
"helm help topics" lists the topics.`,
		Example: `  helm help install
  helm help get values
  helm help exit-codes`,
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if cmd != root || len(rest) == 0 {
				return cmd.Help()
			}
			if t, ok := topicOf(rest); ok {
				return show(f, root, t)
			}
			return unknown(rest[0], suggest.Nearest(topicNames(), rest[0]))
		},
		ValidArgsFunction: complete(root),
	}
}

// topicOf returns the topic that args name.
func topicOf(args []string) (topic, bool) {
	for _, t := range topics() {
		if len(args) == 1 && args[0] == t.name {
			return t, true
		}
	}
	return topic{}, false
}

func topicNames() []string {
	var names []string
	for _, t := range topics() {
		names = append(names, t.name)
	}
	return names
}

// show writes a topic to root's standard output.
func show(f *cmdutil.Factory, root *cobra.Command, t topic) error {
	out := root.OutOrStdout()
	_, err := io.WriteString(out, t.help(root, width(out), f.Style(out)))
	return err
}

// help returns the help of a topic, as [Text] does that of a command.
func (t topic) help(root *cobra.Command, columns int, style term.Style) string {
	var b bytes.Buffer
	p := &page{out: &b, width: columns, style: style}
	switch t.name {
	case "flags":
		p.globalFlags(root)
	case "topics":
		p.list()
	default:
		p.text(strings.TrimSpace(t.text))
	}
	return b.String()
}

// list writes the list of topics.
func (p *page) list() {
	p.heading("Topics")
	var rows [][2]string
	for _, t := range topics() {
		rows = append(rows, [2]string{t.name, t.short})
	}
	p.table(rows)
	p.println("")
	p.paragraph(`Use "helm help TOPIC" for one of them, and "helm help COMMAND" for a command.`)
}

// globalFlags writes the flags of all commands.
func (p *page) globalFlags(root *cobra.Command) {
	p.paragraph("All commands accept these flags, before or after the command's name.")
	p.groups(cmdutil.GlobalFlagGroups(root))
}

// complete completes commands, and topics where no command was named.
func complete(root *cobra.Command) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		cmd, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		offer := func(name, short string) {
			if strings.HasPrefix(name, toComplete) {
				names = append(names, name+"\t"+short)
			}
		}
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				offer(c.Name(), c.Short)
			}
		}
		if cmd == root {
			for _, t := range topics() {
				offer(t.name, t.short)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
