// SPDX-License-Identifier: Apache-2.0

package cmdutil

import "github.com/spf13/pflag"

// StringArrayVarP registers a flag of which each use is one string, as pflag does.
func StringArrayVarP(fs *pflag.FlagSet, to *[]string, name, shorthand, usage string) {
	repeated(fs, name, shorthand, usage, "stringArray", len(*to) > 0,
		func(fs *pflag.FlagSet) { fs.StringArrayVarP(to, name, shorthand, *to, usage) })
}

// StringSliceVarP registers a flag of which each use is strings with commas, as pflag does.
func StringSliceVarP(fs *pflag.FlagSet, to *[]string, name, shorthand, usage string) {
	repeated(fs, name, shorthand, usage, "stringSlice", len(*to) > 0,
		func(fs *pflag.FlagSet) { fs.StringSliceVarP(to, name, shorthand, *to, usage) })
}

// StringToStringVarP registers a flag of which each use is key=value with commas, as pflag
// does.
func StringToStringVarP(fs *pflag.FlagSet, to *map[string]string, name, shorthand, usage string) {
	repeated(fs, name, shorthand, usage, pairs, len(*to) > 0,
		func(fs *pflag.FlagSet) { fs.StringToStringVarP(to, name, shorthand, *to, usage) })
}

// pairs is what pflag calls the type of a flag of key=value.
const pairs = "stringToString"

// repeated registers a flag that pflag makes when it is used. To register one, pflag writes
// its default as CSV, for which it takes a buffer of 4 KB: a third of all memory that making
// the commands takes.
func repeated(fs *pflag.FlagSet, name, shorthand, usage, kind string, hasDefault bool, register func(*pflag.FlagSet)) {
	if hasDefault {
		register(fs)
		return
	}
	fs.VarP(&late{kind: kind, create: func() pflag.Value {
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		register(own)
		return own.Lookup(name).Value
	}}, name, shorthand, usage)
}

// late is a value that is made when it is first set.
type late struct {
	kind   string
	create func() pflag.Value
	value  pflag.Value
}

func (l *late) Type() string { return l.kind }

func (l *late) Set(text string) error {
	if l.value == nil {
		l.value = l.create()
	}
	return l.value.Set(text)
}

// String returns "" for no strings, which help does not show as a default; that of no pairs
// it shows, as Helm's does.
func (l *late) String() string {
	switch {
	case l.value != nil:
		return l.value.String()
	case l.kind == pairs:
		return "[]"
	}
	return ""
}
