// SPDX-License-Identifier: Apache-2.0

// Package test provides the command that runs a release's tests.
package test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report"
	"github.com/moonhelm/moonhelm/internal/term"
)

// Options are the flags of `helm test`.
type Options struct {
	cmdutil.ScriptFlags
	Name          string
	Filters       []string
	Logs          bool
	Timeout       time.Duration
	GiveUp        cmdutil.GiveUpFlag
	TakeOwnership bool
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Run the tests of a release",
		Long: `Run the tests of a release: the Pods and Jobs of its chart with the
annotation helm.sh/hook: test. They run sequentially, ordered by weight, then by
name; the first failure ends the run. helm status shows the results.`,
		Example: `  helm test web
  helm test web --logs
  helm test web --filter name=web-mychart-test-connection
  helm test web --filter '!name=web-mychart-test-connection'`,
		Args:              cmdutil.Args(1, 1, "the name of a release"),
		ValidArgsFunction: f.CompleteReleases(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	o.ScriptFlags.Bind(fs)
	cmdutil.StringSliceVarP(fs, &o.Filters, "filter", "",
		"tests to run: name=TEST, or !name=TEST to exclude one; separate several with commas")
	fs.BoolVar(&o.Logs, "logs", false, "print the logs of the tests' pods")
	fs.BoolVar(&o.TakeOwnership, "take-ownership", false,
		"allow tests to replace objects that do not belong to the release")
	fs.DurationVar(&o.Timeout, "timeout", 5*time.Minute, "time to wait for each test")
	o.GiveUp.Bind(fs)
	fs.Bool("hide-notes", true, "accepted for compatibility: notes are never shown")
	_ = fs.MarkHidden("hide-notes") // the flag exists: it is registered one line above
	cmdutil.CompleteChoices(cmd)
	return cmd
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	config, err := f.Config(o.ScriptFlags, cmdutil.ApplyFlags{}, o.Timeout)
	if err != nil {
		return err
	}
	res, err := action.Test{Config: config}.Run(ctx, action.TestRequest{
		Name: o.Name, Filters: o.Filters, Timeout: o.Timeout, GiveUpAfter: o.GiveUp.After, Logs: o.Logs,
		TakeOwnership: o.TakeOwnership,
	})
	if res == nil {
		return err
	}
	if werr := printResult(f, o, res); err == nil {
		err = werr
	}
	return err
}

// printResult prints the release with its tests, then their logs.
func printResult(f *cmdutil.Factory, o Options, res *action.Tested) error {
	if err := (report.View{HideNotes: true}).Write(f.Streams, output.Table, res.Release); err != nil || !o.Logs {
		return err
	}
	safe := func(text string) string { return text }
	if term.IsTerminal(f.Out) {
		safe = term.Safe // container logs are untrusted
	}
	var b strings.Builder
	b.WriteByte('\n')
	for _, l := range res.Logs {
		if l.Truncated {
			fmt.Fprintf(f.Err, "Warning: the log of pod %s (%s) is long; only its end is shown\n", term.SafeLine(l.Pod),
				term.SafeLine(l.Container))
		}
		fmt.Fprintf(&b, "POD LOGS: %s (%s)\n%s\n", safe(l.Pod), safe(l.Container), safe(l.Text))
	}
	_, err := io.WriteString(f.Out, b.String())
	return err
}
