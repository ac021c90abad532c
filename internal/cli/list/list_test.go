// SPDX-License-Identifier: Apache-2.0

package list

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/release"
)

// The selection of Helm 4.3.1 and, for -a, of Helm 3.22.
func TestStatusFlags(t *testing.T) {
	for _, test := range []struct {
		flags []string
		want  []release.Status
		all   bool
	}{
		{nil, nil, false},
		{[]string{"--failed"}, []release.Status{release.Failed}, false},
		{[]string{"--pending"}, []release.Status{release.PendingInstall, release.PendingUpgrade, release.PendingRollback}, false},
		{[]string{"--superseded"}, []release.Status{release.Superseded}, true},
		{[]string{"--superseded", "--deployed"}, []release.Status{release.Deployed, release.Superseded}, false},
		{[]string{"--uninstalled", "--uninstalling"}, []release.Status{release.Uninstalled, release.Uninstalling}, false},
		{[]string{"-a", "--failed"}, nil, false},
		{[]string{"--superseded", "-a"}, nil, false},
	} {
		t.Run(cmp.Or(strings.Join(test.flags, " "), "no flags"), func(t *testing.T) {
			o := parse(t, test.flags...)
			req, err := o.request()
			if err != nil || !slices.Equal(req.Statuses, test.want) || req.AllRevisions != test.all {
				t.Errorf("%q: %v, all revisions %v, %v", test.flags, req.Statuses, req.AllRevisions, err)
			}
		})
	}
}

// parse parses flags as the command does.
func parse(t *testing.T, flags ...string) Options {
	t.Helper()
	var o Options
	fs := pflag.NewFlagSet("list", pflag.ContinueOnError)
	o.bind(fs)
	if err := fs.Parse(flags); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestInvalidFilters(t *testing.T) {
	for _, flags := range [][]string{{"--filter", "["}, {"--selector", "a=b=c"}, {"-l", "a in b"}} {
		if _, err := parse(t, flags...).request(); err == nil || !strings.HasPrefix(err.Error(), "--") {
			t.Errorf("%q: %v", flags, err)
		}
	}
}

func TestStatusColours(t *testing.T) {
	found := []release.Summary{
		{Name: "db", Namespace: "a", Revision: 1, Status: release.Failed, Chart: "nginx", ChartVersion: "1.2.3", Updated: time.Unix(1700000000, 0).UTC()},
		{Name: "web\x1b[2J", Namespace: "ab", Revision: 12, Status: release.Deployed, Chart: "nginx", ChartVersion: "1.2.3"},
	}
	for color, want := range map[string]string{
		"never": "db        \ta        \t1       \t2023   \tfailed  \tnginx-1.2.3\t           \n",
		"always": "db        \t\x1b[36ma\x1b[0m        \t1       \t2023   \t\x1b[31mfailed\x1b[0m  \tnginx-1.2.3\t           \n" +
			"web\\x1b[2J\t\x1b[36mab\x1b[0m       \t12      \t-      \t\x1b[32mdeployed\x1b[0m\tnginx-1.2.3\t           \n",
	} {
		t.Run(color, func(t *testing.T) {
			var b bytes.Buffer
			f := cmdutil.New(term.Streams{Out: &b, Color: color})
			if err := (Options{Output: output.Table, TimeFormat: "2006"}).write(f, found); err != nil || !strings.Contains(b.String(), want) {
				t.Errorf("%s: %v\n%q\nwanted\n%q", color, err, b.String(), want)
			}
		})
	}
}
