// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/kube/wait"
)

// WatchFlags are the flags for logs and events of what a command waits for.
type WatchFlags struct {
	Logs       bool
	keep, drop []*regexp.Regexp
}

// Bind registers --logs, --logs-keep and --logs-drop.
func (w *WatchFlags) Bind(fs *pflag.FlagSet) {
	fs.BoolVar(&w.Logs, "logs", false, "while waiting, show the logs of pods that are new or failing, those of hooks "+
		"included, and the warnings of what is not ready; afterwards, what was ready when")
	fs.Var(regexps{&w.keep}, "logs-keep", "with --logs, show only lines that match; may be repeated")
	fs.Var(regexps{&w.drop}, "logs-drop", "with --logs, omit lines that match; may be repeated")
}

// Check returns an error if a flag has no effect without another.
func (w *WatchFlags) Check() error {
	if !w.Logs && len(w.keep)+len(w.drop) > 0 {
		return hint.With(errors.New("--logs-keep and --logs-drop need --logs"), "add --logs")
	}
	return nil
}

// Watch returns what a wait is to report, or nil without --logs.
func (w *WatchFlags) Watch() *wait.Watch {
	if !w.Logs {
		return nil
	}
	return &wait.Watch{Logs: true, Keep: w.keep, Drop: w.drop}
}

// regexps implements pflag.Value for a flag that may be repeated.
type regexps struct{ to *[]*regexp.Regexp }

func (r regexps) Type() string { return "regexp" }

func (r regexps) String() string {
	if r.to == nil {
		return ""
	}
	var parts []string
	for _, x := range *r.to {
		parts = append(parts, x.String())
	}
	return strings.Join(parts, " ")
}

func (r regexps) Set(text string) error {
	x, err := regexp.Compile(text)
	if err != nil {
		return fmt.Errorf("must be a regular expression: %w", err)
	}
	*r.to = append(*r.to, x)
	return nil
}

const defaultTimeout = 5 * time.Minute

// BindTimeout registers --timeout with usage, which also takes NAME=TIME.
func BindTimeout(fs *pflag.FlagSet, to *time.Duration, own *map[string]time.Duration, usage string) {
	*to = defaultTimeout
	fs.Var(timeouts{to, own}, "timeout", usage+"; NAME=TIME is that of a resource group, a subchart or an object "+
		"(KIND/NAME)")
}

// timeouts implements pflag.Value for --timeout.
type timeouts struct {
	all *time.Duration
	own *map[string]time.Duration
}

func (t timeouts) Type() string { return "time" }

func (t timeouts) String() string {
	if t.all == nil {
		return ""
	}
	return t.all.String()
}

func (t timeouts) Set(text string) error {
	name, value, named := strings.Cut(text, "=")
	if !named {
		value = text
	}
	d, err := time.ParseDuration(value)
	if err != nil || named && (d <= 0 || name == "") {
		return errors.New("must be a duration such as 90s or 5m, or NAME=TIME such as database=10m or Job/migrate=10m")
	}
	if !named {
		*t.all = d
		return nil
	}
	if *t.own == nil {
		*t.own = map[string]time.Duration{}
	}
	(*t.own)[name] = d
	return nil
}
