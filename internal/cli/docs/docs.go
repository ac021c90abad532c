// SPDX-License-Identifier: Apache-2.0

// Package docs is the command that writes the reference of all commands: man
// pages, Markdown, or the completion script for bash. It is for packagers, and
// hidden as Helm's is. The same binary writes the same bytes on every machine.
package docs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
)

// Options are the flags of `helm docs`.
type Options struct {
	Dir     string
	Type    string
	Headers bool
}

// Tree is what is documented.
type Tree struct {
	// New makes the commands over an environment.
	New func(*cmdutil.Factory) *cobra.Command
	// Bash writes the completion script of a tree.
	Bash func(root *cobra.Command, w io.Writer) error
}

// New makes the command.
func New(f *cmdutil.Factory, tree Tree) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:    "docs",
		Short:  "Generate documentation as markdown or man pages",
		Hidden: true,
		Long: `Generate the documentation of all commands: a Markdown file or a man page for
each, or the completion script for bash. Plugins are left out.

Defaults that depend on the environment are shown as they are without one. The date
of man pages is that of SOURCE_DATE_EPOCH; without it they have none.`,
		Example: `  helm docs --dir reference --generate-headers
  helm docs --dir man/man1 --type man
  helm docs --dir completions --type bash`,
		Args:              cmdutil.Args(0, 0, ""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			return run(f, tree, o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Dir, "dir", "./", "directory to write to")
	fs.StringVar(&o.Type, "type", "markdown", "type of documentation: markdown, man or bash")
	fs.BoolVar(&o.Headers, "generate-headers", false, "begin Markdown files with a title for site generators")
	// These fail only for flags that are not there.
	_ = cmd.RegisterFlagCompletionFunc("type",
		cobra.FixedCompletions([]string{"bash", "man", "markdown"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

func run(f *cmdutil.Factory, tree Tree, o Options) error {
	write, ok := map[string]func(*writer) error{
		"markdown": (*writer).markdown, "mdown": (*writer).markdown, "md": (*writer).markdown,
		"man": (*writer).man, "bash": (*writer).bash,
	}[o.Type]
	if !ok {
		return fmt.Errorf("unknown doc type %q. Try 'markdown' or 'man'", o.Type)
	}
	date, err := sourceDate(f.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	// The machine's own paths and settings must not be the defaults that are shown.
	bare := cmdutil.New(term.Streams{Getenv: func(name string) string {
		if name == "HOME" {
			return "~"
		}
		return ""
	}})
	w := &writer{Tree: tree, Options: o, root: tree.New(bare), date: date}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return fmt.Errorf("write documentation: %w", err)
	}
	if err := write(w); err != nil {
		return fmt.Errorf("write documentation: %w", err)
	}
	return nil
}

// sourceDate is the time that reproducible builds are given, nil for none.
func sourceDate(epoch string) (*time.Time, error) {
	if epoch == "" {
		return nil, nil
	}
	sec, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds", epoch)
	}
	at := time.Unix(sec, 0).UTC()
	return &at, nil
}

// writer writes the documentation of one tree.
type writer struct {
	Tree
	Options
	root *cobra.Command
	date *time.Time
}

// each writes a file for every command that help shows.
func (w *writer) each(cmd *cobra.Command, name func(*cobra.Command) string,
	page func(io.Writer, *cobra.Command)) error {
	for _, c := range documented(cmd) {
		if err := w.each(c, name, page); err != nil {
			return err
		}
	}
	cmd.InitDefaultHelpCmd()
	cmd.InitDefaultHelpFlag()
	var b bytes.Buffer
	page(&b, cmd)
	return os.WriteFile(filepath.Join(w.Dir, name(cmd)), b.Bytes(), 0o644)
}

func (w *writer) markdown() error {
	return w.each(w.root, markdownFile, func(out io.Writer, cmd *cobra.Command) {
		if w.Headers {
			fmt.Fprintf(out, "---\ntitle: %q\n---\n\n", title(cmd.CommandPath()))
		}
		writeMarkdown(out, cmd)
	})
}

// title is a command's path with capitals: "Helm Get Values".
func title(path string) string {
	words := strings.Fields(path)
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, " ")
}

func (w *writer) man() error {
	return w.each(w.root, manFile, func(out io.Writer, cmd *cobra.Command) { writeMan(out, cmd, w.date) })
}

func (w *writer) bash() error {
	var b bytes.Buffer
	if err := w.Bash(w.root, &b); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.Dir, "completions.bash"), b.Bytes(), 0o644)
}
