// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// tree has commands of all shapes: cargo, with cargo load, cargo crane and cargo crane up.
func tree() *cobra.Command {
	runs := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "cargo", Short: "Move cargo", Long: "Move cargo.\n\n  cargo load 'x y'"}
	root.PersistentFlags().String("port", "~/home", "port to start from")
	root.PersistentFlags().Bool("quiet", false, "say nothing")
	load := &cobra.Command{Use: "load NAME...", Short: "Load the ship's hold", Run: runs,
		Long: `Load boxes, <name>[-2] and *all*, from C:\boxes with _HOLD_.
'quoted' at the beginning of a line, as is
.hidden

  cargo load a --deep   # ^1 and ` + "`two`" + `

  cargo load 'b c'
Then more.


And more.`,
		Example: "  cargo load a\n  .first"}
	fs := load.Flags()
	fs.StringP("name", "n", `a b`, "name of the `box`, in words")
	fs.StringArray("tag", nil, "tag, may be repeated")
	fs.StringSlice("list", []string{"a", "b"}, "a list")
	fs.IntP("deep", "d", 3, "decks down")
	fs.Lookup("deep").NoOptDefVal = "5"
	fs.String("mode", "", "mode\nof loading")
	fs.Lookup("mode").NoOptDefVal = "fast"
	fs.Bool("hidden", false, "not to be seen")
	fs.Bool("old", false, "deprecated")
	fs.BoolP("short", "s", false, "the short form is deprecated")
	for _, err := range []error{fs.MarkHidden("hidden"), fs.MarkDeprecated("old", "no"),
		fs.MarkShorthandDeprecated("short", "no")} {
		if err != nil {
			panic(err)
		}
	}
	crane := &cobra.Command{Use: "crane", Short: "Work the crane"}
	crane.AddCommand(&cobra.Command{Use: "up", Aliases: []string{"lift"}, Short: "Lift", Run: runs})
	root.AddCommand(load, crane,
		&cobra.Command{Use: "secret", Short: "Hidden", Hidden: true, Run: runs},
		&cobra.Command{Use: "gone", Short: "Deprecated", Deprecated: "no", Run: runs},
		&cobra.Command{Use: "about", Short: "A help topic", Long: "About it."})
	return root
}

// eachOf calls fn for root and all commands below it that have a page.
func eachOf(root *cobra.Command, fn func(*cobra.Command)) {
	for _, c := range documented(root) {
		eachOf(c, fn)
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultHelpFlag()
	fn(root)
}

func TestMarkdownIsThatOfCobra(t *testing.T) {
	pages := 0
	eachOf(tree(), func(cmd *cobra.Command) {
		pages++
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			var got, want bytes.Buffer
			writeMarkdown(&got, cmd)
			plain := *cmd
			plain.Long, plain.DisableAutoGenTag = markdownText(cmd.Long), true
			if err := doc.GenMarkdown(&plain, &want); err != nil {
				t.Fatal(err)
			}
			if got.String() != want.String() {
				t.Errorf("got:\n%s\nCobra writes:\n%s", &got, &want)
			}
		})
	})
	if pages != 4 {
		t.Errorf("%d pages, want 4", pages)
	}
}

// The headings of man pages are those of Cobra, in its order, and so are the flags.
func TestManPagesHaveTheFormOfCobra(t *testing.T) {
	entry := regexp.MustCompile(`(?m)^(\.SH|\\fB-).*|\\fB[a-z-]+\(1\)`)
	outline := func(page string) []string {
		page = strings.NewReplacer(`\-`, "-", `\(ti`, "~").Replace(page)
		page = regexp.MustCompile(`(?m)^\.BR (\S+) \(1\),?$`).ReplaceAllString(page, `\fB$1(1)`)
		return entry.FindAllString(page, -1)
	}
	eachOf(tree(), func(cmd *cobra.Command) {
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			var got, want bytes.Buffer
			writeMan(&got, cmd, nil)
			plain := *cmd
			plain.DisableAutoGenTag = true
			if err := doc.GenMan(&plain, &doc.GenManHeader{Section: "1"}, &want); err != nil {
				t.Fatal(err)
			}
			if got, want := outline(got.String()), outline(want.String()); !slices.Equal(got, want) {
				t.Errorf("got:\n%s\nCobra writes:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	})
}

func TestManPage(t *testing.T) {
	load, _, err := tree().Find([]string{"load"})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	at := time.Date(2001, 9, 9, 0, 0, 0, 0, time.UTC)
	writeMan(&b, load, &at)
	for _, want := range []string{
		".TH \"CARGO-LOAD\" \"1\" \"Sep 2001\" \"Helm v",
		".SH NAME\ncargo\\-load \\- Load the ship's hold\n",
		".SH SYNOPSIS\n\\fBcargo load NAME... [flags]\\fP\n",
		"Load boxes, <name>[\\-2] and *all*, from C:\\eboxes with _HOLD_.\n\\&'quoted' at the beginning",
		"\n\\&.hidden\n.PP\n.RS 4\n.EX\ncargo load a \\-\\-deep   # \\(ha1 and \\(gatwo\\(ga\n" +
			"\ncargo load \\(aqb c\\(aq\n.EE\n.RE\n",
		".PP\nThen more.\n.PP\nAnd more.\n.SH OPTIONS\n",
		".TP\n\\fB\\-d\\fP, \\fB\\-\\-deep\\fP[=3]\ndecks down\n",
		".SH EXAMPLE\n.RS 4\n.EX\ncargo load a\n\\&.first\n.EE\n.RE\n",
		".SH SEE ALSO\n.BR cargo (1)\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, &b)
		}
	}
	if page := b.String(); strings.Contains(page, "hidden\n.TP") || strings.Contains(page, "not to be seen") {
		t.Errorf("hidden flags are shown:\n%s", page)
	}
}

func TestManPagesHaveNoWarnings(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("needs groff")
	}
	eachOf(tree(), func(cmd *cobra.Command) {
		var page, said bytes.Buffer
		writeMan(&page, cmd, nil)
		c := exec.Command(groff, "-man", "-Tascii", "-ww")
		c.Stdin, c.Stderr = &page, &said
		if err := c.Run(); err != nil || said.Len() > 0 {
			t.Errorf("%s: %v %s", cmd.CommandPath(), err, &said)
		}
	})
}
