// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"fmt"
	"testing"

	"github.com/spf13/pflag"
)

// Flags with lazy values parse as pflag's own, show no default, and keep a default from the
// environment.
func TestRepeatedFlagsMatchPflag(t *testing.T) {
	type bound struct {
		array, slice []string
		pairs        map[string]string
	}
	parse := func(late bool, args []string) (string, error) {
		b := bound{slice: []string{"given"}}
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		other := []string(nil)
		if late {
			StringArrayVarP(fs, &b.array, "array", "a", "")
			StringSliceVarP(fs, &b.slice, "slice", "s", "")
			StringSliceVarP(fs, &other, "other", "", "")
			StringToStringVarP(fs, &b.pairs, "pairs", "p", "")
		} else {
			fs.StringArrayVarP(&b.array, "array", "a", nil, "")
			fs.StringSliceVarP(&b.slice, "slice", "s", b.slice, "")
			fs.StringSliceVar(&other, "other", nil, "")
			fs.StringToStringVarP(&b.pairs, "pairs", "p", nil, "")
		}
		usage := fs.FlagUsages()
		err := fs.Parse(args)
		types := ""
		fs.VisitAll(func(f *pflag.Flag) { types += fmt.Sprint(f.Value.Type(), f.Changed, " ") })
		return fmt.Sprintf("%q %q %s %v\n%s", b, other, types, err, usage), err
	}
	for _, args := range [][]string{
		nil, {"-a", "1,2", "-a", "3"}, {"-s", "1,2", "--slice", `"x,y"`}, {"--other", "1,2", "--other", "3"}, {"-p", "a=b,c=d", "-p", "e=f"},
		{"-p", "nothing"}, {"-s", `"`}, {"-a"}, {"--other="}, {"--array="},
	} {
		got, errLate := parse(true, args)
		want, err := parse(false, args)
		if got != want {
			t.Errorf("%q: got %s (%v)\nwant %s (%v)", args, got, errLate, want, err)
		}
	}
}
