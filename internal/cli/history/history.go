// SPDX-License-Identifier: Apache-2.0

// Package history provides the command that shows the revisions of a release.
package history

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report"
)

// Options are the flags of `helm history`.
type Options struct {
	Output    output.Format
	Name      string
	Max       int
	Rollbacks bool
	Changes   bool
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:     "history NAME",
		Aliases: []string{"hist"},
		Short:   "List the revisions of a release",
		Long: `List the recorded revisions of a release, oldest first, with the status of each.

A terminal shows how long each took too, and in short what it changed. With --changes,
show all of that: the chart, the names of values, the images and the objects that
differ from the revision before. "helm diff revision" shows how.`,
		Example: `  helm history web
  helm history web --changes
  helm history web --max 3 -o json`,
		Args:              cmdutil.Args(1, 1, "the name of a release"),
		ValidArgsFunction: f.CompleteReleases(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	o.Output.Bind(fs)
	output.Complete(cmd)
	fs.BoolVar(&o.Rollbacks, "show-rollback-revision", false, "show the revision to which each rollback rolled back")
	fs.BoolVar(&o.Changes, "changes", false, "show what each revision changed, and how long it took")
	fs.IntVar(&o.Max, "max", 256, "maximum number of revisions to show, the newest ones; 0 for all")
	return cmd
}

// element is a revision in JSON and YAML. The keys are Helm's; with --changes there are two more.
type element struct {
	Revision    int                    `json:"revision"`
	Updated     time.Time              `json:"updated"`
	Status      string                 `json:"status"`
	Chart       string                 `json:"chart"`
	AppVersion  string                 `json:"app_version"`
	Rollback    int                    `json:"rollback_revision,omitempty"`
	Description string                 `json:"description"`
	Completed   *time.Time             `json:"completed,omitempty"`
	Changes     *action.RevisionChange `json:"changes,omitempty"`
}

// maxChanges is the number of revisions whose changes a terminal shows unasked: it takes reading
// their records.
const maxChanges = 10

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	records, err := f.Records(f.Namespace())
	if err != nil {
		return err
	}
	found, err := action.History{Releases: records}.Run(ctx, o.Name, max(o.Max, 0))
	if err != nil {
		return err
	}
	t := table{options: o, streams: f.Streams, now: f.Now(), found: found, changes: map[int]*action.RevisionChange{}}
	if brief := o.Output == output.Table && output.OnScreen(f.Streams); o.Changes || brief {
		if err := t.read(ctx, records, o.Changes); err != nil {
			return err
		}
	}
	elements := make([]element, len(found))
	for i, s := range found {
		elements[i] = element{
			Revision: s.Revision, Updated: s.Updated, Status: string(s.Status), AppVersion: s.AppVersion,
			Chart: report.ChartName(s.Chart, s.ChartVersion), Rollback: s.RollbackRevision, Description: s.Description,
		}
		if o.Changes {
			elements[i].Changes = t.changes[s.Revision]
			if !s.Completed.IsZero() {
				elements[i].Completed = &s.Completed
			}
		}
	}
	return o.Output.Write(f.Out, elements, func(io.Writer) error { return t.write() })
}

// read reads what the revisions changed: all of them, or the newest.
func (t *table) read(ctx context.Context, records action.Storage, all bool) error {
	var revisions []int
	for _, s := range t.found {
		revisions = append(revisions, s.Revision)
	}
	if n := len(revisions); !all && n > maxChanges {
		revisions = revisions[n-maxChanges:]
	}
	changes, err := action.HistoryChanges{Releases: records}.Run(ctx, t.options.Name, revisions)
	for i, c := range changes {
		t.changes[revisions[i]] = c
	}
	return err
}
