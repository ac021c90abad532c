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

// flagError says what is wrong with a command's flags, and which flag was
// perhaps meant.
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

// invalidValue words a value that a flag does not take without the names of
// Go's functions.
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
	return fmt.Sprintf("invalid argument %q for %q flag: it must be %s", err.GetValue(), name, want)
}

// insteadOf says, as the tail of a sentence, what replaces a flag of earlier versions of
// Helm, or which flag was perhaps meant.
func insteadOf(cmd *cobra.Command, unknown *pflag.NotExistError) string {
	name := unknown.GetSpecifiedName()
	if cmd.Name() == "template" && unknown.GetSpecifiedShortnames() == "x" {
		name = "execute"
	}
	if instead := removedFlag(cmd.Name(), name); instead != "" {
		return ": " + instead
	}
	return nearFlag(cmd, unknown)
}

// nearFlag names the flag that was perhaps meant, as the tail of a sentence, ""
// for none.
func nearFlag(cmd *cobra.Command, unknown *pflag.NotExistError) string {
	name := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" || len(name) < 2 {
		return ""
	}
	if name == "version" && !cmd.HasParent() {
		return `; "helm version" tells the version`
	}
	// Cobra knows which of its commands are near to a word; here they are flags.
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
