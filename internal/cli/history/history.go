// SPDX-License-Identifier: Apache-2.0

// Package history provides the command that shows the revisions of a release.
package history

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
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
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:     "history NAME",
		Aliases: []string{"hist"},
		Short:   "List the revisions of a release",
		Long:    `List the recorded revisions of a release, oldest first, with the status of each.`,
		Example: `  helm history web
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
	fs.IntVar(&o.Max, "max", 256, "maximum number of revisions to show, the newest ones; 0 for all")
	return cmd
}

// element is a revision in JSON and YAML. The keys are Helm's.
type element struct {
	Revision    int       `json:"revision"`
	Updated     time.Time `json:"updated"`
	Status      string    `json:"status"`
	Chart       string    `json:"chart"`
	AppVersion  string    `json:"app_version"`
	Rollback    int       `json:"rollback_revision,omitempty"`
	Description string    `json:"description"`
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	records, err := f.Records(f.Namespace())
	if err != nil {
		return err
	}
	found, err := action.History{Releases: records}.Run(ctx, o.Name, max(o.Max, 0))
	if err != nil {
		return err
	}
	elements := make([]element, len(found))
	for i, s := range found {
		elements[i] = element{
			Revision: s.Revision, Updated: s.Updated, Status: string(s.Status),
			Chart: report.ChartName(s.Chart,
				s.ChartVersion), AppVersion: s.AppVersion, Rollback: s.RollbackRevision, Description: s.Description,
		}
	}
	return write(f.Out, o, elements)
}

// firstLine returns the first line of a description for the table. A failure has more, such as the
// end of a log, which helm status and the JSON output show.
func firstLine(s string) string {
	line, _, more := strings.Cut(s, "\n")
	if more {
		line += " ..."
	}
	return line
}

// formatTime formats a time as Helm's history does; the zero time is "-".
func formatTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.ANSIC)
}

func write(w io.Writer, o Options, elements []element) error {
	return o.Output.Write(w, elements, func(w io.Writer) error {
		header := []string{"REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION", "DESCRIPTION"}
		if o.Rollbacks {
			header = slices.Insert(header, 5, "ROLLBACK")
		}
		rows := make([][]string, len(elements))
		for i, s := range elements {
			rows[i] = []string{strconv.Itoa(s.Revision), formatTime(s.Updated), s.Status, s.Chart, s.AppVersion,
				firstLine(s.Description)}
			if !o.Rollbacks {
				continue
			}
			from := ""
			if s.Rollback > 0 {
				from = strconv.Itoa(s.Rollback)
			}
			rows[i] = slices.Insert(rows[i], 5, from)
		}
		return output.Rows(w, header, rows)
	})
}
