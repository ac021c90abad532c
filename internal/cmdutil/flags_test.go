// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Helm 3 accepts booleans and a flag without a value, Helm 4 words.
func TestDryRunHelm3AndHelm4(t *testing.T) {
	for args, want := range map[string]DryRun{
		"":                 DryRunNone,
		"--dry-run":        DryRunClient,
		"--dry-run=true":   DryRunClient,
		"--dry-run=client": DryRunClient,
		"--dry-run=server": DryRunServer,
		"--dry-run=none":   DryRunNone,
		"--dry-run=false":  DryRunNone,
		"--dry-run=yes":    "error",
		"--dry-run=":       "error",
	} {
		d := DryRunNone
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		BindDryRun(fs, &d)
		err := fs.Parse(strings.Fields(args))
		if err != nil {
			d = "error"
		}
		if d != want {
			t.Errorf("%q: got %s, %v; want %s", args, d, err, want)
		}
	}
}

func TestWaitHelm3AndHelm4(t *testing.T) {
	for args, want := range map[string]struct {
		waits, jobs bool
		timeout     time.Duration
	}{
		"":                           {false, false, 5 * time.Minute},
		"--wait":                     {true, false, 5 * time.Minute},
		"--wait=true":                {true, false, 5 * time.Minute},
		"--wait=false":               {false, false, 5 * time.Minute},
		"--wait=watcher":             {true, false, 5 * time.Minute},
		"--wait=legacy":              {true, false, 5 * time.Minute},
		"--wait=hookOnly":            {false, false, 5 * time.Minute},
		"--wait=ordered":             {true, false, 5 * time.Minute},
		"--wait-for-jobs --wait":     {true, true, 5 * time.Minute},
		"--timeout 10s --wait=false": {false, false, 10 * time.Second},
	} {
		t.Run(cmp.Or(args, "no flags"), func(t *testing.T) {
			var w WaitFlags
			fs := pflag.NewFlagSet("", pflag.ContinueOnError)
			w.Bind(fs, true)
			if err := fs.Parse(strings.Fields(args)); err != nil || w.Wait() != want.waits || w.Jobs != want.jobs || w.Timeout != want.timeout {
				t.Errorf("got %+v, %v, want %+v", w, err, want)
			}
		})
	}
	for _, args := range []string{"--wait=long", "--timeout=5", "--wait-for-jobs"} {
		t.Run(args, func(t *testing.T) {
			var w WaitFlags
			fs := pflag.NewFlagSet("", pflag.ContinueOnError)
			w.Bind(fs, false)
			if err := fs.Parse([]string{args}); err == nil {
				t.Errorf("%s: no error: %+v", args, w)
			}
		})
	}
}

func TestReadinessTimeout(t *testing.T) {
	for args, want := range map[string]time.Duration{
		"":                                      0,
		"--wait":                                0,
		"--wait=ordered":                        time.Minute,
		"--wait=ordered --timeout 20s":          20 * time.Second,
		"--wait=ordered --readiness-timeout 2m": 2 * time.Minute,
		"--readiness-timeout 5m":                5 * time.Minute,
	} {
		t.Run(cmp.Or(args, "no flags"), func(t *testing.T) {
			var w WaitFlags
			fs := pflag.NewFlagSet("", pflag.ContinueOnError)
			w.Bind(fs, true)
			if err := errors.Join(fs.Parse(strings.Fields(args)), w.Check()); err != nil || w.WaitOptions().ReadinessTimeout != want {
				t.Errorf("got %s, %v; want %s", w.WaitOptions().ReadinessTimeout, err, want)
			}
		})
	}
	for _, args := range []string{"--readiness-timeout 6m", "--readiness-timeout=-1s"} {
		t.Run(args, func(t *testing.T) {
			var w WaitFlags
			fs := pflag.NewFlagSet("", pflag.ContinueOnError)
			w.Bind(fs, true)
			if err := fs.Parse(strings.Fields(args)); err != nil || w.Check() == nil {
				t.Errorf("got %v, and no error of Check", err)
			}
		})
	}
}

func TestNameAndChart(t *testing.T) {
	now := time.Unix(1795262400, 0)
	for _, test := range []struct {
		flags, args string
		name, chart string
		problem     string
	}{
		{"", "web ./c", "web", "./c", ""},
		{"", "./c", "", "./c", ""},
		{"-g", "./c", "c-1795262400", "./c", ""},
		{"--name-template x-{{\"Y\"|lower}}", "./c", "x-y", "./c", ""},
		{"--name-template {{", "./c", "", "", "--name-template"},
		{"--name-template x -g", "./c", "", "", "cannot be used together"},
		{"-g", "web ./c", "", "", "also specify a name"},
		{"--name-template x", "web ./c", "", "", "also specify a name"},
	} {
		t.Run(test.flags+" "+test.args, func(t *testing.T) {
			var n NameFlags
			fs := pflag.NewFlagSet("", pflag.ContinueOnError)
			n.Bind(fs)
			if err := fs.Parse(strings.Fields(test.flags)); err != nil {
				t.Fatal(err)
			}
			err := n.Resolve(strings.Fields(test.args), now)
			if test.problem != "" {
				if err == nil || !strings.Contains(err.Error(), test.problem) {
					t.Errorf("%s %s: got %v, want %q", test.flags, test.args, err, test.problem)
				}
			} else if err != nil || n.Name != test.name || n.ChartRef != test.chart {
				t.Errorf("%s %s: %+v, %v", test.flags, test.args, n, err)
			}
		})
	}
}

func TestInvalidArguments(t *testing.T) {
	root := &cobra.Command{Use: "helm"}
	cmd := &cobra.Command{Use: "status NAME", Run: func(*cobra.Command, []string) {}}
	root.AddCommand(cmd)
	for _, test := range []struct {
		name  string
		check cobra.PositionalArgs
		args  string
		want  string
	}{
		{"one name", Args(1, 1, "a name"), "a", ""},
		{"no name", Args(1, 1, "a name"), "", `"helm status" requires 1 argument: a name`},
		{"two names", Args(1, 1, "a name"), "a b", `"helm status" requires 1 argument: a name; unexpected arguments: ["b"]`},
		{"four names", Args(1, -1, "names"), "a b c d", ""},
		{"name and chart", NameAndChart, "web ./c", ""},
		{"chart", NameAndChart, "./c", ""},
		{"neither name nor chart", NameAndChart, "",
			`"helm status" requires at least 1 argument: a chart, which is a directory, an archive, repository/name or a URL`},
		{"three arguments", NameAndChart, "a b c", `"helm status" expected at most two arguments, unexpected arguments: c`},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.check(cmd, strings.Fields(test.args))
			var usage *UsageError
			switch {
			case test.want == "":
				if err != nil {
					t.Errorf("%q: %v", test.args, err)
				}
			case !errors.As(err, &usage) || usage.Error() != test.want || !strings.HasPrefix(usage.Usage, "helm status NAME"):
				t.Errorf("%q: got %v, want %s", test.args, err, test.want)
			}
		})
	}
}

// Scripts pass the same flags to install and template.
func TestIgnoredInstallFlags(t *testing.T) {
	var i IgnoredInstallFlags
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	i.Bind(fs)
	err := fs.Parse(strings.Fields("--create-namespace --replace --skip-crds --take-ownership --atomic --rollback-on-failure --force --disable-openapi-validation" +
		" --description d --server-side --server-side=auto -l a=b --wait --wait-for-jobs --timeout 3s"))
	if err != nil {
		t.Error(err)
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			t.Errorf("--%s is not hidden", f.Name)
		}
	})
}
