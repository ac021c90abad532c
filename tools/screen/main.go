// SPDX-License-Identifier: Apache-2.0

// Command screen draws what a terminal has shown as an SVG picture:
//
//	screen -columns 100 -o wait.svg frame-1 frame-2 frame-3
//
// Each file is a screen as "tmux capture-pane -e -p" prints it. Several are shown one after the other, and
// the last one stays; where no motion is wanted, only that one is seen. wait.sh makes the picture of
// README.md with it.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "screen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("screen", flag.ContinueOnError)
	out := flags.String("o", "screen.svg", "file to write")
	columns := flags.Int("columns", 80, "width of the terminal")
	title := flags.String("title", "A terminal", "what the picture shows, for those who do not see it")
	pause := flags.Float64("pause", 1, "seconds that a screen is shown")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return fmt.Errorf("usage: screen [flags] FILE...")
	}
	var screens [][]line
	for _, name := range flags.Args() {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		screens = append(screens, parse(string(text)))
	}
	return os.WriteFile(*out, []byte(draw(screens, *columns, *title, *pause)), 0o644)
}
