// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/suggest"
)

// A flagUseError is returned if a flag of a command does not exist, or has no value or an invalid one.
type flagUseError struct {
	Command string // "helm upgrade"
	Problem string
	Err     error // of package pflag
}

func (e *flagUseError) Error() string { return e.Problem }

func (e *flagUseError) Unwrap() error { return e.Err }

// Hint names the command that lists the flags.
func (e *flagUseError) Hint() string {
	return e.Command + " --help shows the flags and examples"
}

// flagError returns a [*flagUseError] for a problem with a command's flags. It suggests similar flags
// and values.
func flagError(cmd *cobra.Command, err error) error {
	problem := err.Error()
	var (
		unknown *pflag.NotExistError
		invalid *pflag.InvalidValueError
		bare    *pflag.ValueRequiredError
	)
	switch {
	case errors.As(err, &unknown):
		problem += insteadOf(cmd, unknown)
	case errors.As(err, &invalid):
		problem = invalidValue(invalid)
	case errors.As(err, &bare):
		problem = missingValue(bare)
	}
	return &flagUseError{Command: cmd.CommandPath(), Problem: problem, Err: err}
}

// missingValue describes a flag without a value: "flag --set needs a value, such as --set replicas=2".
func missingValue(err *pflag.ValueRequiredError) string {
	name := "--" + err.GetSpecifiedName()
	if err.GetSpecifiedShortnames() != "" {
		name = "-" + err.GetSpecifiedName()
	}
	text := "flag " + name + " needs a value"
	if value := cmdutil.ExampleValue(err.GetFlag()); value != "" {
		return text + ", such as " + name + " " + value
	}
	return text + ": " + err.GetFlag().Usage
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
	if unknown.GetSpecifiedShortnames() != "" {
		return singleHyphen(cmd, unknown.GetSpecifiedShortnames())
	}
	if name == "version" && !cmd.HasParent() {
		return `; "helm version" shows the version`
	}
	near := suggest.Nearest(flagNames(cmd), name)
	if len(near) == 0 {
		return ""
	}
	for i, name := range near {
		near[i] = "--" + name
	}
	return "; did you mean " + cmdutil.Enumerate(near, "or") + "?"
}

// singleHyphen returns the end of a sentence for -wait, of which the letters are not flags, or "" if
// there is no flag --wait either.
func singleHyphen(cmd *cobra.Command, letters string) string {
	name, _, _ := strings.Cut(letters, "=")
	if f := cmd.Flags().Lookup(name); f == nil || f.Hidden || len(name) < 2 {
		return ""
	}
	return "; did you mean --" + name + "?"
}

// flagNames returns the names of the flags that help shows.
func flagNames(cmd *cobra.Command) []string {
	var names []string
	add := func(f *pflag.Flag) {
		if !f.Hidden && len(f.Name) > 2 {
			names = append(names, f.Name)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return names
}
