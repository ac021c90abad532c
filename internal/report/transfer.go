// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report/diff"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/ui"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// TransferPlan prints what a transfer of objects changes, in the cluster and in the records, and its
// warnings.
func TransferPlan(ctx context.Context, s term.Streams, t *action.Transfer) error {
	st := s.Style(s.Out)
	var b strings.Builder
	b.WriteString(st.Bold("In the cluster:") + "\n")
	for _, o := range t.Objects {
		writeTransferObject(&b, st, o)
	}
	if _, err := fmt.Fprintln(s.Out, b.String()); err != nil {
		return err
	}
	for _, c := range []*action.Change{t.From, t.To} {
		if err := recordChange(ctx, s, t, c); err != nil {
			return err
		}
	}
	b.Reset()
	for _, w := range t.Warnings {
		b.WriteString(st.Yellow("Warning: ") + term.SafeLine(w) + "\n")
	}
	_, err := fmt.Fprint(s.Out, ui.Screen(s, s.Out, b.String()))
	return err
}

// recordChange prints the change of a release's record. A rename changes names only.
func recordChange(ctx context.Context, s term.Streams, t *action.Transfer, c *action.Change) error {
	if c == nil {
		return nil
	}
	heading := fmt.Sprintf("In the record of release %s, revision %d:", c.To.Name, c.To.Revision)
	if t.Verb == release.TransferRename {
		if c == t.To {
			return nil
		}
		_, err := fmt.Fprintf(s.Out, "%s\nrelease %s becomes release %s, revision %d, with its history\n\n",
			s.Style(s.Out).Bold("In the records:"), t.From.To.Name, t.To.To.Name, t.To.To.Revision)
		return err
	}
	o := diff.Options{}
	d := diff.Of(c, o)
	d.NoSummary = true
	if _, err := fmt.Fprintln(s.Out, s.Style(s.Out).Bold(heading)); err != nil {
		return err
	}
	if !d.Changes() {
		_, err := fmt.Fprint(s.Out, "the same objects\n\n")
		return err
	}
	return diff.Write(ctx, s, diff.Text, d, o)
}

func writeTransferObject(b *strings.Builder, st term.Style, o action.TransferObject) {
	name := o.String()
	if o.Namespace != "" {
		name += " in namespace " + o.Namespace
	}
	b.WriteString("  " + term.SafeLine(name))
	switch {
	case !o.Exists:
		b.WriteString(" does not exist: only the record changes\n")
		return
	case o.Was == o.Will:
		b.WriteString(" stays as it is\n")
	default:
		b.WriteByte('\n')
	}
	pair := func(what, key, was, will string) {
		if was == will {
			return
		}
		if was != "" {
			b.WriteString(st.Red(fmt.Sprintf("    - %s %s: %s", what, key, term.SafeLine(was))) + "\n")
		}
		if will != "" {
			b.WriteString(st.Green(fmt.Sprintf("    + %s %s: %s", what, key, term.SafeLine(will))) + "\n")
		}
	}
	pair("label", release.ManagedByLabel, o.Was.ManagedBy, o.Will.ManagedBy)
	pair("annotation", release.NameAnnotation, o.Was.Release, o.Will.Release)
	pair("annotation", release.NamespaceAnnotation, o.Was.Namespace, o.Will.Namespace)
	if omitted := notable(o.Omitted); len(omitted) > 0 {
		b.WriteString(st.Dim("    left out of the record: "+strings.Join(omitted, ", ")) + "\n")
	}
}

// notable returns the paths without those that every object has and no manifest.
func notable(omitted []string) []string {
	var out []string
	for _, path := range omitted {
		switch path {
		case "status", "metadata.uid", "metadata.resourceVersion", "metadata.generation", "metadata.creationTimestamp",
			"metadata.managedFields":
		default:
			out = append(out, term.SafeLine(path))
		}
	}
	return out
}

// transferJSON is a transfer as JSON and YAML.
type transferJSON struct {
	Operation release.TransferVerb `json:"operation"`
	Changed   bool                 `json:"changed"`
	From      *transferSideJSON    `json:"from,omitempty"`
	To        *transferSideJSON    `json:"to,omitempty"`
	Objects   []transferObjectJSON `json:"objects"`
	Warnings  []string             `json:"warnings,omitempty"`
}

type transferSideJSON struct {
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
	Revision  int    `json:"revision"`
}

type transferObjectJSON struct {
	plan.Ref
	Exists  bool              `json:"exists"`
	Was     release.Ownership `json:"was"`
	Will    release.Ownership `json:"will"`
	Omitted []string          `json:"omitted,omitempty"`
}

// WriteTransfer prints a transfer as JSON or YAML, or calls table.
func WriteTransfer(s term.Streams, f output.Format, t *action.Transfer, table func() error) error {
	if f == output.Table {
		return table()
	}
	out := transferJSON{Operation: t.Verb, Changed: !t.Unchanged() || t.Finished, Warnings: t.Warnings,
		Objects: []transferObjectJSON{}}
	side := func(c *action.Change) *transferSideJSON {
		if c == nil {
			return nil
		}
		return &transferSideJSON{c.To.Name, c.To.Namespace, c.To.Revision}
	}
	out.From, out.To = side(t.From), side(t.To)
	for _, o := range t.Objects {
		out.Objects = append(out.Objects, transferObjectJSON{o.Ref, o.Exists, o.Was, o.Will, o.Omitted})
	}
	return f.Write(s.Out, out, nil)
}
