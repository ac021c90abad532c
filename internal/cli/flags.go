// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// flagError returns a usage error for a command's flags that suggests similar flags.
func flagError(cmd *cobra.Command, err error) error {
	problem := "was called wrongly: " + err.Error()
	var (
		unknown *pflag.NotExistError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown):
		problem = "was called with an " + err.Error() + insteadOf(cmd, unknown)
	case errors.As(err, &invalid):
		problem = "was called with an " + invalidValue(invalid)
	}
	return &cmdutil.UsageError{Command: cmd.CommandPath(), Usage: cmd.UseLine(), Problem: problem}
}

// invalidValue describes an invalid flag value without the names of Go functions.
func invalidValue(err *pflag.InvalidValueError) string {
	wants := map[string]string{
		"int": "a whole number", "float32": "a number", "bool": "true or false",
		"duration": "a duration such as 90s or 5m", "stringToString": "key=value,key=value",
	}
	want, known := wants[err.GetFlag().Value.Type()]
	if err.GetFlag().Name == "server-side" || !known {
		return err.Error()
	}
	name := "--" + err.GetFlag().Name
	if short := err.GetFlag().Shorthand; short != "" {
		name = "-" + short + ", " + name
	}
	return fmt.Sprintf("invalid argument %q for %q flag: must be %s", err.GetValue(), name, want)
}

// insteadOf returns the replacement of a flag of earlier versions of Helm, or similar flags, as the
// end of a sentence.
func insteadOf(cmd *cobra.Command, unknown *pflag.NotExistError) string {
	name := unknown.GetSpecifiedName()
	if cmd.Name() == "template" && unknown.GetSpecifiedShortnames() == "x" {
		name = "execute"
	}
	if instead := removedFlag(cmd.Name(), name); instead != "" {
		return ": " + instead
	}
	return similarFlags(cmd, unknown)
}

// similarFlags returns the flags similar to an unknown one as the end of a sentence, or "" if there
// are none.
func similarFlags(cmd *cobra.Command, unknown *pflag.NotExistError) string {
	name := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" || len(name) < 2 {
		return ""
	}
	if name == "version" && !cmd.HasParent() {
		return `; "helm version" shows the version`
	}
	// Cobra suggests similar commands; here the commands stand for flags.
	flags := &cobra.Command{SuggestionsMinimumDistance: 2}
	add := func(f *pflag.Flag) {
		if !f.Hidden && len(f.Name) > 2 {
			flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	near := flags.SuggestionsFor(name)
	if len(near) == 0 {
		return ""
	}
	return ", did you mean --" + strings.Join(near[:min(len(near), 3)], ", --") + "?"
}
