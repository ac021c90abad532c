// SPDX-License-Identifier: Apache-2.0

// Package list provides the command that lists releases.
package list

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// Options are the flags of `helm list`.
type Options struct {
	Output        output.Format
	AllNamespaces bool
	All           bool // overrides Statuses; without both every status is shown
	Statuses      [7]bool
	Filter        string
	Selector      string
	ByDate        bool
	Reverse       bool
	Short         bool
	NoHeaders     bool
	Max           int
	Offset        int
	TimeFormat    string
}

// statusFlags are the flags that select statuses, in the order of Options.Statuses.
var statusFlags = [...]struct {
	name, help string
	statuses   []release.Status
}{
	{"deployed", "show deployed releases", []release.Status{release.Deployed}},
	{"failed", "show failed releases", []release.Status{release.Failed}},
	{"pending", "show pending releases",
		[]release.Status{release.PendingInstall, release.PendingUpgrade, release.PendingRollback}},
	{"superseded", "show superseded releases", []release.Status{release.Superseded}},
	{"uninstalled", "show releases uninstalled with --keep-history", []release.Status{release.Uninstalled}},
	{"uninstalling", "show releases that are being uninstalled", []release.Status{release.Uninstalling}},
	{"unknown", "show releases of unknown status", []release.Status{release.Unknown}},
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List releases",
		Long:    `List the releases of a namespace, whatever their status, sorted by name.`,
		Example: `  helm list
  helm list --all-namespaces --failed
  helm list --filter '^web' -o json`,
		Args:              cmdutil.Args(0, 0, ""),
		ValidArgsFunction: cmdutil.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), f, o)
		},
	}
	o.bind(cmd.Flags())
	output.Complete(cmd)
	return cmd
}

func (o *Options) bind(fs *pflag.FlagSet) {
	o.Output.Bind(fs)
	fs.BoolVarP(&o.AllNamespaces, "all-namespaces", "A", false, "list releases of all namespaces")
	fs.BoolVarP(&o.All, "all", "a", false, "show releases of every status (the default)")
	_ = fs.MarkHidden("all") // the flag exists: it is registered one line above
	for i, s := range statusFlags {
		fs.BoolVar(&o.Statuses[i], s.name, false, s.help)
	}
	fs.StringVarP(&o.Filter, "filter", "f", "", "list only releases whose name matches this regular expression")
	fs.StringVarP(&o.Selector, "selector", "l", "",
		"list only releases whose record has these labels, such as key1=value1,key2!=value2")
	fs.BoolVarP(&o.ByDate, "date", "d", false, "sort by deployment time")
	fs.BoolVarP(&o.Reverse, "reverse", "r", false, "reverse the order")
	fs.BoolVarP(&o.Short, "short", "q", false, "print names only")
	fs.BoolVar(&o.NoHeaders, "no-headers", false, "omit the table's header")
	fs.IntVarP(&o.Max, "max", "m", 256, "maximum number of releases to print, 0 for all")
	fs.IntVar(&o.Offset, "offset", 0, "number of releases to skip")
	fs.StringVar(&o.TimeFormat, "time-format", "", `Go layout of times, such as "2006-01-02 15:04:05Z0700"`)
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	req, err := o.request()
	if err != nil {
		return err
	}
	namespace := f.Namespace()
	if o.AllNamespaces {
		namespace = ""
	}
	records, err := f.Records(namespace)
	if err != nil {
		return err
	}
	found, err := action.List{Releases: records}.Run(ctx, req)
	if err != nil {
		return err
	}
	for _, s := range found {
		if s.Damaged {
			f.Report().Send(progress.Event{Kind: progress.Warning,
				Text: fmt.Sprintf("revision %d of release %s in namespace %s is %s", s.Revision, s.Name, s.Namespace,
					s.Description)})
		}
	}
	return o.write(f, found)
}

func (o Options) request() (action.ListRequest, error) {
	filter, err := cmdutil.ReleaseFilter(o.Filter, o.Selector)
	if err != nil {
		return action.ListRequest{}, err
	}
	req := action.ListRequest{Filter: filter, ByDate: o.ByDate, Reverse: o.Reverse, Offset: o.Offset, Limit: o.Max}
	for i, on := range o.Statuses {
		if on && !o.All {
			req.Statuses = append(req.Statuses, statusFlags[i].statuses...)
		}
	}
	// As in Helm, --superseded alone lists the revisions before the newest; any other selection is
	// among the newest.
	req.AllRevisions = slices.Equal(req.Statuses, []release.Status{release.Superseded})
	return req, nil
}

// element is a release in JSON and YAML. The keys are Helm's.
type element struct {
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
	Revision   string `json:"revision"`
	Updated    string `json:"updated"`
	Status     string `json:"status"`
	Chart      string `json:"chart"`
	AppVersion string `json:"app_version"`
}

// The coloured columns of the table, as in Helm 4.
const (
	namespaceColumn = 1
	statusColumn    = 4
)

func (o Options) write(f *cmdutil.Factory, found []release.Summary) error {
	elements := make([]element, 0, len(found))
	names := make([]string, 0, len(found))
	for _, s := range found {
		elements = append(elements, element{
			Name: s.Name, Namespace: s.Namespace, Revision: strconv.Itoa(s.Revision),
			Updated: o.formatted(s.Updated), Status: string(s.Status),
			Chart: report.ChartName(s.Chart, s.ChartVersion), AppVersion: s.AppVersion,
		})
		names = append(names, s.Name)
	}
	if o.Short {
		return o.Output.Write(f.Out, names, func(w io.Writer) error {
			for _, n := range names {
				if _, err := fmt.Fprintln(w, term.SafeLine(n)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return o.Output.Write(f.Out, elements, func(io.Writer) error { return o.table(f, found, elements) })
}

func (o Options) table(f *cmdutil.Factory, found []release.Summary, elements []element) error {
	st := f.Style(f.Out)
	g := output.Grid{
		Header: []string{"NAME", "NAMESPACE", "REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION"},
		Rows:   make([][]string, len(elements)),
		Style: func(row, column int, cell string) string {
			switch {
			case row < 0:
				return st.Bold(cell)
			case column == namespaceColumn:
				return st.Cyan(cell)
			case column == statusColumn:
				return report.StatusText(st, found[row].Status, cell)
			}
			return cell
		},
		Spare: []int{6, 2, 3}, // app version, revision, updated
	}
	if !o.AllNamespaces {
		g.Spare = append([]int{namespaceColumn}, g.Spare...) // it is the same everywhere
	}
	if o.NoHeaders {
		g.Header = nil
	}
	relative := o.TimeFormat == "" && output.OnScreen(f.Streams)
	for i, s := range elements {
		if relative {
			s.Updated = output.Ago(found[i].Updated, f.Now())
		}
		g.Rows[i] = []string{s.Name, s.Namespace, s.Revision, s.Updated, s.Status, s.Chart, s.AppVersion}
	}
	return g.Write(f.Streams)
}

func (o Options) formatted(t time.Time) string {
	switch {
	case t.IsZero():
		return "-"
	case o.TimeFormat != "":
		return t.Format(o.TimeFormat)
	}
	return t.String()
}
