// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// releaseOptions are the flags of `helm graph release`.
type releaseOptions struct {
	Name     string
	Revision int
	Output   format
}

func newRelease(f *cmdutil.Factory) *cobra.Command {
	var o releaseOptions
	cmd := &cobra.Command{
		Use:   "release NAME",
		Short: "Draw the order of a release's objects",
		Long: `Draw the order in which the objects of a release are applied: in groups, each of
which must be ready before the next is applied. Without an order in its charts, a
release has one group, in which kinds have Helm's order.`,
		Example:           "  helm graph release web\n  helm graph release web --revision 2 -o mermaid",
		Args:              cmdutil.Args(1, 1, "the name of a release"),
		ValidArgsFunction: f.CompleteReleases(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return o.run(cmd.Context(), f)
		},
	}
	o.Output.bind(cmd)
	cmd.Flags().IntVar(&o.Revision, "revision", 0, "draw this revision instead of the newest")
	// The flag exists: it is registered one line above.
	_ = cmd.RegisterFlagCompletionFunc("revision", f.CompleteRevisions)
	return cmd
}

func (o *releaseOptions) run(ctx context.Context, f *cmdutil.Factory) error {
	if err := action.CheckName(o.Name); err != nil {
		return err
	}
	records, err := f.Records(f.Namespace())
	if err != nil {
		return err
	}
	rel, err := records.Get(ctx, o.Name, o.Revision)
	if err != nil {
		return err
	}
	groups, warnings, err := groupsOf(rel)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		f.Report().Send(progress.Event{Kind: progress.Warning, Text: w})
	}
	if o.Output == asText {
		return writeGroups(f.Streams, "release "+rel.Name, groups)
	}
	title := fmt.Sprintf("Order of release %s, revision %d", rel.Name, rel.Revision)
	_, err = io.WriteString(f.Out, drawGroups(title, groups).text(o.Output))
	return err
}

// groupsOf returns the objects of a release in the groups in which they are applied.
func groupsOf(rel *release.Release) (groups [][]*manifest.Object, warnings []string, err error) {
	objects, err := manifest.ParseManifest(rel.Manifest)
	if err == nil {
		objects, err = manifest.Flatten(objects)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the manifest of release %s: %w", rel.Name, err)
	}
	var order *plan.Order
	if rel.Order != nil {
		if err := json.Unmarshal(rel.Order, &order); err != nil {
			return nil, nil, fmt.Errorf("read the order of release %s: %w", rel.Name, err)
		}
	}
	return batches(order, objects)
}

// batches returns the batches of an order; all objects are one if there is none.
func batches(order *plan.Order, objects []*manifest.Object) (groups [][]*manifest.Object, warnings []string,
	err error) {
	groups, warnings, err = order.Batches(objects)
	if err == nil && groups == nil && len(objects) > 0 {
		groups = [][]*manifest.Object{objects}
	}
	return groups, warnings, err
}

// names returns the names of the objects in a group, the chart that they are from in front if it is
// not the root.
func names(group []*manifest.Object) []string {
	var out []string
	for _, o := range group {
		if o.Empty {
			continue
		}
		name := o.Kind + "/" + o.Name
		if chart, ok := subchart(o.Source); ok {
			name += " (" + chart + ")"
		}
		out = append(out, name)
	}
	return out
}

// subchart returns the path of the subchart that a template is in.
func subchart(source string) (string, bool) {
	_, rest, ok := strings.Cut(source, "/charts/")
	if !ok {
		return "", false
	}
	path, _, _ := strings.Cut(rest, "/templates/")
	return strings.ReplaceAll(path, "/charts/", "/"), true
}

func writeGroups(s term.Streams, what string, groups [][]*manifest.Object) error {
	st := s.Style(s.Out)
	var b strings.Builder
	for i, group := range groups {
		if i > 0 {
			b.WriteString("\n")
		}
		title := fmt.Sprintf("%d. when group %d is ready", i+1, i)
		if i == 0 {
			title = "1. first"
		}
		b.WriteString(st.Bold(title) + "\n")
		for _, name := range names(group) {
			b.WriteString("   " + term.SafeLine(name) + "\n")
		}
	}
	if len(groups) == 0 {
		fmt.Fprintf(&b, "%s has no objects\n", term.SafeLine(what))
	}
	_, err := io.WriteString(s.Out, b.String())
	return err
}

// maxLines is the maximum number of objects of a group that a drawing names.
const maxLines = 30

func drawGroups(title string, groups [][]*manifest.Object) *drawing {
	d := &drawing{title: title}
	for i, group := range groups[:min(len(groups), maxNodes)] {
		lines := names(group)
		if len(lines) > maxLines {
			lines = append(lines[:maxLines:maxLines], fmt.Sprintf("and %d more", len(lines)-maxLines))
		}
		n := d.add(&node{lines: append([]string{fmt.Sprintf("group %d", i+1)}, lines...), class: plain, layer: i})
		if i > 0 {
			d.edges = append(d.edges, edge{n - 1, n})
		}
	}
	return d
}
