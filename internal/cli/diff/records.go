// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/storage"
)

func revision(f *cmdutil.Factory) *cobra.Command {
	var s show
	cmd := &cobra.Command{
		Use:   "revision NAME [FROM] [TO]",
		Short: "Compare two revisions of a release",
		Long: `Compare the recorded manifests of two revisions: by default the newest and
the previous one; with one number, that revision and the newest.`,
		Example: `  # What did the last upgrade change?
  helm diff revision web

  helm diff revision web 1 2`,
		Args:              cmdutil.Args(1, 3, "the name of a release, and at most two revisions"),
		ValidArgsFunction: f.CompleteReleaseAndRevision,
		RunE: func(cmd *cobra.Command, args []string) error {
			numbers, err := revisions(cmd, args[1:])
			if err != nil {
				return err
			}
			if err := s.prepare(cmd.Context(), f, cmd.Flags()); err != nil {
				return err
			}
			numbers = append(numbers, 0, 0)
			records, err := f.Records(f.Namespace())
			if err != nil {
				return err
			}
			change, err := action.Diff{Releases: records}.Revisions(cmd.Context(), args[0], numbers[0], numbers[1])
			if err != nil {
				return err
			}
			return s.write(cmd.Context(), f, change,
				fmt.Sprintf("Difference from revision %d to %d", change.From.Revision, change.To.Revision))
		},
	}
	s.bind(cmd)
	s.bindNoHooks(cmd)
	return cmd
}

func release(f *cmdutil.Factory) *cobra.Command {
	var s show
	var namespace string
	cmd := &cobra.Command{
		Use:   "release NAME OTHER",
		Short: "Compare two releases",
		Long: `Compare the recorded manifests of the newest revisions of two releases. A name
may have its namespace as a prefix: production/web.

Objects are of one kind and match by name, in which the first release's name
counts as the other's, or by their template. What differs only in the names of
the releases, their namespaces and their objects is left out; --show-names shows
it too.`,
		Example: `  helm diff release web web-staging
  helm diff release default/web shop/web --stat`,
		Args:              cmdutil.Args(2, 2, "the names of two releases"),
		ValidArgsFunction: f.CompleteReleases(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.prepare(cmd.Context(), f, cmd.Flags()); err != nil {
				return err
			}
			if namespace == "" {
				namespace = f.Namespace()
			}
			name, records, err := recordsOf(f, args[0], f.Namespace())
			if err != nil {
				return err
			}
			other, others, err := recordsOf(f, args[1], namespace)
			if err != nil {
				return err
			}
			change, err := action.Diff{Releases: records}.Between(cmd.Context(), name, others, other)
			if err != nil {
				return err
			}
			return s.write(cmd.Context(), f, change, "Difference")
		},
	}
	cmd.Flags().StringVar(&namespace, "other-namespace", "", "namespace of the second release (default: the current one)")
	cmd.Flags().BoolVar(&s.options.Names, "show-names", false,
		"show what differs only in the names of releases, namespaces and objects too")
	s.bind(cmd)
	s.bindNoHooks(cmd)
	return cmd
}

// recordsOf splits [NAMESPACE/]NAME, and returns the name and the namespace's records.
func recordsOf(f *cmdutil.Factory, arg, namespace string) (string, *storage.Storage, error) {
	name := arg
	if before, after, ok := strings.Cut(arg, "/"); ok {
		namespace, name = before, after
	}
	records, err := f.Records(namespace)
	return name, records, err
}

// revisions parses revision numbers.
func revisions(cmd *cobra.Command, args []string) ([]int, error) {
	var out []int
	for _, a := range args {
		n, err := strconv.Atoi(a)
		if err != nil || n < 0 {
			return nil, &cmdutil.UsageError{
				Command: cmd.CommandPath(), Usage: cmd.UseLine(),
				Problem: fmt.Sprintf("needs a revision number, not %q", a),
			}
		}
		out = append(out, n)
	}
	return out, nil
}
