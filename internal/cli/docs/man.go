// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/build"
)

func manFile(cmd *cobra.Command) string { return pageName(cmd) + ".1" }

// pageName is the name of a command's page, without its section.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// writeMan writes a command's page for man(1). A nil date is left out.
func writeMan(out io.Writer, cmd *cobra.Command, date *time.Time) {
	month := ""
	if date != nil {
		month = date.Format("Jan 2006")
	}
	fmt.Fprintf(out, ".TH \"%s\" \"1\" \"%s\" \"Helm %s\" \"Helm Manual\"\n",
		strings.ToUpper(pageName(cmd)), month, build.Current().Version)
	fmt.Fprint(out, ".nh\n.ad l\n") // commands and paths are not hyphenated, nor spaces widened
	fmt.Fprintf(out, ".SH NAME\n%s \\- %s\n", manLine(pageName(cmd)), manLine(cmd.Short))
	fmt.Fprintf(out, ".SH SYNOPSIS\n\\fB%s\\fP\n", manLine(cmd.UseLine()))
	long := cmd.Long
	if long == "" {
		long = cmd.Short
	}
	fmt.Fprint(out, ".SH DESCRIPTION\n")
	manText(out, long)
	manFlags(out, "OPTIONS", cmd.NonInheritedFlags())
	manFlags(out, "OPTIONS INHERITED FROM PARENT COMMANDS", cmd.InheritedFlags())
	if cmd.Example != "" {
		fmt.Fprint(out, ".SH EXAMPLE\n")
		manText(out, cmd.Example)
	}
	if others := seeAlso(cmd); len(others) > 0 {
		pages := make([]string, len(others))
		for i, c := range others {
			pages[i] = ".BR " + manLine(pageName(c)) + " (1)"
		}
		fmt.Fprintf(out, ".SH SEE ALSO\n%s\n", strings.Join(pages, ",\n"))
	}
}

// manText writes a help text: paragraphs, and what is indented as examples.
func manText(out io.Writer, text string) {
	for i, b := range blocks(text) {
		if i > 0 {
			fmt.Fprintln(out, ".PP")
		}
		if b.example {
			fmt.Fprintf(out, ".RS 4\n.EX\n%s\n.EE\n.RE\n", strings.Join(b.lines, "\n"))
		} else {
			fmt.Fprintln(out, strings.Join(b.lines, "\n"))
		}
	}
}

// A block is a paragraph, or an example with the blank lines in it.
type block struct {
	example bool
	lines   []string
}

func blocks(text string) []block {
	var out []block
	blank := 0
	for _, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			blank++
			continue
		}
		example := isExample(line)
		if n := len(out); n == 0 || out[n-1].example != example || blank > 0 && !example {
			out, blank = append(out, block{example: example}), 0
		}
		b := &out[len(out)-1]
		b.lines = append(b.lines, make([]string, blank)...)
		if example {
			line = manCode(strings.TrimPrefix(line, "  "))
		} else {
			line = manLine(line)
		}
		b.lines, blank = append(b.lines, line), 0
	}
	return out
}

// manFlags writes flags as `-f, --flag=default`, those that may be used alone as
// `--flag[=default]`.
func manFlags(out io.Writer, heading string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(out, ".SH %s\n", heading)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value := "=" + f.DefValue
		if f.Value.Type() == "string" {
			value = fmt.Sprintf("=%q", f.DefValue)
		}
		if f.NoOptDefVal != "" {
			value = "[" + value + "]"
		}
		short := ""
		if f.Shorthand != "" && f.ShorthandDeprecated == "" {
			short = `\fB\-` + f.Shorthand + `\fP, `
		}
		usage := manLine(strings.ReplaceAll(f.Usage, "\n", " "))
		fmt.Fprintf(out, ".TP\n%s\\fB%s\\fP%s\n%s\n", short, manLine("--"+f.Name), manCode(value), usage)
	})
}

// manLine is a line of prose: nothing in it is a request, and hyphens are those of
// options, which can be copied.
func manLine(s string) string {
	s = manEscapes.Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		return `\&` + s
	}
	return s
}

// manCode returns a line of code: an apostrophe in it stays one and is not made a closing quote.
func manCode(s string) string { return strings.ReplaceAll(manLine(s), "'", `\(aq`) }

var manEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`)
