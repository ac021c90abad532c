// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func markdownFile(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "_") + ".md"
}

// writeMarkdown writes a command's page in Markdown, with the headings and in the order in
// which the pages of all programs made with Cobra have them.
func writeMarkdown(out io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(out, "## %s\n\n%s\n\n", cmd.CommandPath(), cmd.Short)
	if cmd.Long != "" {
		fmt.Fprintf(out, "### Synopsis\n\n%s\n\n", markdownText(cmd.Long))
	}
	if cmd.Runnable() {
		fmt.Fprintf(out, "```\n%s\n```\n\n", cmd.UseLine())
	}
	if cmd.Example != "" {
		fmt.Fprintf(out, "### Examples\n\n```\n%s\n```\n\n", cmd.Example)
	}
	markdownFlags(out, "Options", cmd.NonInheritedFlags())
	markdownFlags(out, "Options inherited from parent commands", cmd.InheritedFlags())
	if others := seeAlso(cmd); len(others) > 0 {
		fmt.Fprint(out, "### SEE ALSO\n\n")
		for _, c := range others {
			fmt.Fprintf(out, "* [%s](%s)\t - %s\n", c.CommandPath(), markdownFile(c), c.Short)
		}
		fmt.Fprintln(out)
	}
}

func markdownFlags(out io.Writer, heading string, flags *pflag.FlagSet) {
	if flags.HasAvailableFlags() {
		fmt.Fprintf(out, "### %s\n\n```\n%s```\n\n", heading, flags.FlagUsages())
	}
}

// markdownText is a help text as Markdown: what is indented in it is an example, and
// nothing else is markup.
func markdownText(long string) string {
	lines := strings.Split(long, "\n")
	for i, line := range lines {
		if isExample(line) {
			lines[i] = "  " + line
		} else {
			lines[i] = markdownEscapes.Replace(line)
		}
	}
	return strings.Join(lines, "\n")
}

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "<", `\<`, ">", `\>`, "*", `\*`, "[", `\[`, "]", `\]`)

// isExample reports whether a line of a help text is one of an example.
func isExample(line string) bool { return strings.HasPrefix(line, "  ") }

// seeAlso are the commands beside a command's own page: its parent, and those below it.
func seeAlso(cmd *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	if cmd.HasParent() {
		out = append(out, cmd.Parent())
	}
	return append(out, documented(cmd)...)
}

// documented are the commands below cmd that have a page.
func documented(cmd *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() {
			out = append(out, c)
		}
	}
	return out
}
