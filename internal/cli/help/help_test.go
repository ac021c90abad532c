// SPDX-License-Identifier: Apache-2.0

package help

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/term"
)

// ship returns the root of a tree with a command of few flags, load, and one of many, sail.
func ship() *cobra.Command {
	runs := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "ship", Short: "Move cargo", Long: "Move cargo by sea."}
	root.PersistentFlags().StringP("port", "p", "home", "port to start from")
	root.PersistentFlags().Bool("quiet", false, "say nothing")
	load := &cobra.Command{Use: "load BOX", Aliases: []string{"put"}, Short: "Load a box", Run: runs,
		Long: `Load boxes into the hold, in the order in which they are
named.

  ok       a box that fits, and stays where it was put until it is unloaded
  too big  another`,
		Example: `  # Load two boxes
  ship load 'a  b' --name 'the first of many' --deep 3 --label one`}
	load.Flags().StringP("name", "n", "box", "name of the `box`, which is painted on it")
	load.Flags().Int("deep", 0, "decks down")
	load.Flags().StringArray("label", nil, "label of the box (may be repeated)")
	load.Flags().Bool("secret", false, "not shown")
	_ = load.Flags().MarkHidden("secret")
	sail := &cobra.Command{Use: "sail", Short: "Sail", Run: runs}
	for _, name := range []string{"values", "set", "version", "wait", "timeout", "dry-run", "output", "username", "speed"} {
		sail.Flags().String(name, "", "usage of "+name)
	}
	sail.Flags().Lookup("wait").NoOptDefVal = "watcher"
	root.AddCommand(load, sail)
	return root
}

// command returns the command of ship called name.
func command(t *testing.T, name string) *cobra.Command {
	t.Helper()
	cmd, _, err := ship().Find([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestText(t *testing.T) {
	const want = `Load boxes into the hold, in the order in which they are named.

  ok       a box that fits, and stays where it was put until it is unloaded
  too big  another

Usage:
  ship load BOX [flags]

Aliases:
  load, put

Examples:
  # Load two boxes
  ship load 'a  b' --name 'the first of many' --deep 3 --label one

Flags:
      --deep int       decks down
  -h, --help           help for load
      --label string   label of the box (may be repeated)
  -n, --name box       name of the box, which is painted on it (default "box")

Global flags (see "helm help flags"): -p/--port, --quiet
`
	if got := Text(command(t, "load"), 0, term.Style{}); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestTextIsAsWideAsTheTerminal(t *testing.T) {
	const want = `Load boxes into the hold, in the order
in which they are named.

  ok       a box that fits, and stays
           where it was put until it is
           unloaded
  too big  another

Usage:
  ship load BOX [flags]

Aliases:
  load, put

Examples:
  # Load two boxes
  ship load 'a  b' --name \
      'the first of many' --deep 3 \
      --label one

Flags:
      --deep int
        decks down
  -h, --help
        help for load
      --label string
        label of the box (may be
        repeated)
  -n, --name box
        name of the box, which is
        painted on it (default "box")

Global flags (see "helm help flags"):
-p/--port, --quiet
`
	if got := Text(command(t, "load"), 40, term.Style{}); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// What a plugin says cannot move the cursor, or imitate what helm says.
func TestTextIsSafe(t *testing.T) {
	const clear = "\x1b[2J"
	root := ship()
	cmd := &cobra.Command{Use: "evil" + clear, Short: "short" + clear, Long: "long" + clear, Example: "  # why" + clear + "\n  evil" + clear,
		Run: func(*cobra.Command, []string) {}}
	cmd.Flags().String("flag"+clear, "", "usage"+clear)
	root.AddCommand(cmd)
	for _, c := range []*cobra.Command{root, cmd} {
		if got := Text(c, 60, term.Style{}); strings.Contains(got, clear) {
			t.Errorf("help of %q:\n%q", c.Name(), got)
		}
	}
}

func TestFlagsAreGrouped(t *testing.T) {
	text := Text(command(t, "sail"), 0, term.Style{})
	_, flags, ok := strings.Cut(text, "\nFlags:\n")
	if !ok {
		t.Fatalf("there are no flags:\n%s", text)
	}
	var got []string
	for line := range strings.Lines(flags) {
		if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(line, "Global") {
			got = append(got, strings.TrimSuffix(strings.Join(words[:min(2, len(words))], " "), " string"))
		}
	}
	want := []string{"-h, --help", "--speed", "Flags for", "--set", "--values", "Flags for", "--version", "Flags for",
		"--timeout", "--wait[=string] usage", "Flags for", "--dry-run", "Flags for", "--output", "Flags for", "--username"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestBreakCommand(t *testing.T) {
	for _, tc := range []struct {
		line string
		most int
		want int
	}{
		{"helm list", 4, 4},
		{"helm list", 3, -1},
		{"echo 'a b'", 8, 4},
		{`echo "a b" c`, 11, 10},
		{"", 5, -1},
	} {
		t.Run(tc.line, func(t *testing.T) {
			if got := breakCommand(tc.line, tc.most); got != tc.want {
				t.Errorf("breakCommand(%q, %d) = %d, want %d", tc.line, tc.most, got, tc.want)
			}
		})
	}
}

// The variables of `helm help environment` are those of docs/environment.md, which a test of package
// cli compares with the code.
func TestEnvironmentTopic(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "environment.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := regexp.MustCompile("`([A-Z][A-Z_]+[A-Z0-9])`").FindAllStringSubmatch(string(page), -1)
	listed := regexp.MustCompile(`(?m)^  ([A-Z_0-9]+) `).FindAllStringSubmatch(environment, -1)
	names := func(matches [][]string) []string {
		var out []string
		for _, m := range matches {
			if m[1] != "PATH" {
				out = append(out, m[1])
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	if got, want := names(listed), names(documented); !slices.Equal(got, want) {
		t.Errorf("the topic has\n%q\ndocs/environment.md has\n%q", got, want)
	}
}

func TestTopics(t *testing.T) {
	all := topics()
	if !slices.IsSortedFunc(all, func(a, b topic) int { return strings.Compare(a.name, b.name) }) {
		t.Error("the topics are not sorted")
	}
	for _, topic := range all {
		for _, columns := range []int{0, 60, 110, 200} {
			text := topic.help(ship(), columns, term.Style{})
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s: no help", topic.name)
			}
			for line := range strings.Lines(text) {
				if n := len(strings.TrimRight(line, "\n")); columns > 0 && n > columns {
					t.Errorf("%s at %d columns: line of %d: %s", topic.name, columns, n, line)
				}
			}
		}
	}
}
