// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/repo"
)

// updateOptions are the flags of `helm repo update`.
type updateOptions struct {
	Fail    bool // no effect: failures are always reported
	Timeout time.Duration
}

func newUpdate(f *cmdutil.Factory) *cobra.Command {
	var o updateOptions
	cmd := &cobra.Command{
		Use:     "update [NAME...]",
		Aliases: []string{"up"},
		Short:   "Update the indexes of repositories",
		Long: `Download the newest indexes of all repositories, or of the named ones, concurrently.
If an update fails, the old index is kept, and the other updates continue.`,
		Example: `  helm repo update
  helm repo update example`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeNames(f),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), f, args) },
	}
	cmd.Flags().DurationVar(&o.Timeout, "timeout", defaultTimeout, "time to wait for each index")
	cmd.Flags().BoolVar(&o.Fail, "fail-on-repo-update-fail", false,
		"accepted for compatibility: an update that fails is always an error")
	_ = cmd.Flags().MarkHidden("fail-on-repo-update-fail") // the flag exists: it is registered above
	return cmd
}

// run prints Helm's messages, for which scripts search.
func (o *updateOptions) run(ctx context.Context, factory *cmdutil.Factory, names []string) error {
	repositories := factory.Collection()
	repositories.Timeout = o.Timeout
	f, err := repositories.Load()
	if err != nil {
		return err
	}
	entries, err := f.Pick(names...)
	if _, ok := errors.AsType[*repo.NoRepositoriesError](err); ok {
		return hint.With(errors.New("no repositories found. You must add one before updating"),
			"helm repo add NAME URL adds one")
	}
	if err != nil {
		return err
	}
	out := factory.Lines()
	fmt.Fprintln(out, "Hang tight while we grab the latest from your chart repositories...")
	err = repositories.Update(ctx, entries, func(r repo.Result) {
		if r.Err != nil && ctx.Err() != nil {
			return // the interrupt is reported once
		}
		if r.Err != nil {
			fmt.Fprintf(out, "...Unable to get an update from the %q chart repository (%s):\n\t%s\n", r.Entry.Name,
				r.Entry.RedactedURL(), term.Safe(r.Err.Error()))
			return
		}
		warnUnusable(factory.Report(), r)
		fmt.Fprintf(out, "...Successfully got an update from the %q chart repository\n", r.Entry.Name)
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "Update Complete. ⎈Happy Helming!⎈")
	return err
}

// warnUnusable warns of index entries that are skipped.
func warnUnusable(report progress.Func, r repo.Result) {
	const most = 3
	for i, bad := range r.Unusable {
		text := fmt.Sprintf("repository %s: %v", r.Entry.Name, bad)
		if left := len(r.Unusable) - i; i == most-1 && left > 1 {
			text += fmt.Sprintf(" (and %d more)", left-1)
		}
		if i < most {
			report.Send(progress.Event{Kind: progress.Warning, Text: text})
		}
	}
}
