// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// completeArguments makes the commands below root say that they accept no more arguments, and offer
// no files for flags that are not paths.
func completeArguments(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		completeArguments(cmd)
	}
	noFiles := func(f *pflag.Flag) {
		if _, given := root.GetFlagCompletionFunc(f.Name); !given && !isPath(f) {
			_ = root.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions) // the flag exists
		}
	}
	root.LocalFlags().VisitAll(noFiles)
	if root.HasSubCommands() {
		return
	}
	given := root.ValidArgsFunction
	root.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]string,
		cobra.ShellCompDirective) {
		switch {
		case !acceptsMore(cmd, args):
			return cmdutil.NoArguments(cmd, args, toComplete)
		case given == nil:
			return nil, cobra.ShellCompDirectiveDefault
		}
		return given(cmd, args, toComplete)
	}
}

// acceptsMore reports whether cmd accepts more arguments than args.
func acceptsMore(cmd *cobra.Command, args []string) bool {
	if cmd.Args == nil {
		return true
	}
	const most = 3 // no command requires more at once
	more := slices.Clone(args)
	for range most {
		more = append(more, "x")
		if cmd.Args(cmd, more) == nil {
			return true
		}
	}
	return false
}

// isPath reports whether the value of a flag may be a path, or may contain one, as with --set-file.
func isPath(f *pflag.Flag) bool {
	switch f.Value.Type() {
	case "bool", "count", "duration", "float32", "int", "regexp", "stringToString", "time", "uint":
		return false
	}
	return !slices.Contains(strings.Fields(noPaths), f.Name)
}

// noPaths are the flags with a string value that is not a path.
const noPaths = `api-versions app-version chart-api-version description endpoint filter jsonpath key
	kube-apiserver kube-as-group kube-as-user kube-tls-server-name kube-token kube-version labels name-template
	other-namespace password repo selector set set-json set-literal set-string template time-format url username version`
