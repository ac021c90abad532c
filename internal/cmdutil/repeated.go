// SPDX-License-Identifier: Apache-2.0

package cmdutil

import "github.com/spf13/pflag"

// StringArrayVarP registers a flag that may be repeated, each time with one string, as pflag does.
func StringArrayVarP(fs *pflag.FlagSet, to *[]string, name, shorthand, usage string) {
	lazyVarP(fs, name, shorthand, usage, "stringArray", len(*to) > 0,
		func(fs *pflag.FlagSet) { fs.StringArrayVarP(to, name, shorthand, *to, usage) })
}

// StringSliceVarP registers a flag that may be repeated, each time with comma-separated strings, as
// pflag does.
func StringSliceVarP(fs *pflag.FlagSet, to *[]string, name, shorthand, usage string) {
	lazyVarP(fs, name, shorthand, usage, "stringSlice", len(*to) > 0,
		func(fs *pflag.FlagSet) { fs.StringSliceVarP(to, name, shorthand, *to, usage) })
}

// StringToStringVarP registers a flag that may be repeated, each time with comma-separated
// key=value pairs, as pflag does.
func StringToStringVarP(fs *pflag.FlagSet, to *map[string]string, name, shorthand, usage string) {
	lazyVarP(fs, name, shorthand, usage, pairs, len(*to) > 0,
		func(fs *pflag.FlagSet) { fs.StringToStringVarP(to, name, shorthand, *to, usage) })
}

// pairs is pflag's name for the type of a key=value flag.
const pairs = "stringToString"

// lazyVarP registers a flag whose value register creates when it is first set. pflag writes the
// default of such a flag as CSV when it is registered, with a buffer of 4 KB: a third of the memory
// that creating all commands takes.
func lazyVarP(fs *pflag.FlagSet, name, shorthand, usage, kind string, hasDefault bool, register func(*pflag.FlagSet)) {
	if hasDefault {
		register(fs)
		return
	}
	fs.VarP(&lazyValue{kind: kind, create: func() pflag.Value {
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		register(own)
		return own.Lookup(name).Value
	}}, name, shorthand, usage)
}

// lazyValue is a flag's value that is created when it is first set.
type lazyValue struct {
	kind   string
	create func() pflag.Value
	value  pflag.Value
}

func (l *lazyValue) Type() string { return l.kind }

func (l *lazyValue) Set(text string) error {
	if l.value == nil {
		l.value = l.create()
	}
	return l.value.Set(text)
}

// GetSlice returns the strings of a flag that was set, or nil.
func (l *lazyValue) GetSlice() []string {
	if list, ok := l.value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return nil
}

// String implements pflag.Value. Before the flag is set it returns "", for which help shows no
// default, or "[]" for pairs, as in Helm.
func (l *lazyValue) String() string {
	switch {
	case l.value != nil:
		return l.value.String()
	case l.kind == pairs:
		return "[]"
	}
	return ""
}
