// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/engine/common"
	chartfiles "github.com/moonhelm/moonhelm/engine/engine"
)

// A method is looked up in the functions of this file, by the type of its receiver,
// and not with reflect.Value.MethodByName: a program that calls that keeps every
// exported method of every type it can reach, which is an eighth of this one (see
// docs/adr/0025-methods-of-templates.md). Templates meet few types that have methods.

// method returns the method of recv that templates may call by that name, or nil.
func (f *frame) method(recv reflect.Value, name string) any {
	if !recv.IsValid() || recv.Kind() == reflect.Pointer && recv.IsNil() {
		return nil
	}
	v := recv.Interface()
	method := methodOf(v, name)
	if method == nil && f.methods != nil {
		method = f.methods(v, name)
	}
	return method
}

// methodOf returns the method of v that templates may call by that name, as a function
// with the method's signature, or nil if v has no such method.
func methodOf(v any, name string) any {
	switch v := v.(type) {
	case Values:
		return valuesMethod(v, name)
	case chartfiles.Files:
		return filesMethod(v, name)
	case *common.KubeVersion:
		switch name {
		case "String":
			return v.String
		case "GitVersion":
			return v.GitVersion
		}
	case VersionSet:
		if name == "Has" {
			return v.Has
		}
	case *semver.Version:
		return semverMethod(v, name)
	case semver.Version:
		return semverMethod(&v, name)
	case time.Time:
		return timeMethod(v, name)
	case *time.Time:
		return timeMethod(*v, name)
	case time.Duration:
		return durationMethod(v, name)
	case time.Month:
		return stringMethod(v, name)
	case time.Weekday:
		return stringMethod(v, name)
	case *time.Location:
		return stringMethod(v, name)
	}
	return nil
}

// isValuesMethod reports whether name is a method of Values, and not a key.
func isValuesMethod(name string) bool {
	switch name {
	case "YAML", "AsMap", "Table", "PathValue":
		return true
	}
	return false
}

func valuesMethod(v Values, name string) any {
	switch name {
	case "YAML": // Values.YAML itself has no limit
		return func() (string, error) {
			text, err := encodeYAML(map[string]any(v))
			return text + "\n", err
		}
	case "AsMap":
		return v.AsMap
	case "Table":
		return v.Table
	case "PathValue":
		return v.PathValue
	}
	return nil
}

func filesMethod(v chartfiles.Files, name string) any {
	switch name {
	case "AsConfig": // Files.AsConfig and AsSecrets have no limit
		return func() (string, error) { return encodeYAML(chartfiles.ConfigData(v)) }
	case "AsSecrets":
		return func() (string, error) { return encodeYAML(chartfiles.SecretData(v)) }
	case "Get":
		return v.Get
	case "GetBytes":
		return v.GetBytes
	case "Glob":
		return v.Glob
	case "Lines":
		return v.Lines
	}
	return nil
}

func stringMethod(v interface{ String() string }, name string) any {
	if name == "String" {
		return v.String
	}
	return nil
}

// semverMethod returns the methods of the result of the function semver.
func semverMethod(v *semver.Version, name string) any {
	switch name {
	case "Major":
		return v.Major
	case "Minor":
		return v.Minor
	case "Patch":
		return v.Patch
	case "Prerelease":
		return v.Prerelease
	case "Metadata":
		return v.Metadata
	case "String":
		return v.String
	case "Original":
		return v.Original
	case "Compare":
		return v.Compare
	case "Equal":
		return v.Equal
	case "LessThan":
		return v.LessThan
	case "LessThanEqual":
		return v.LessThanEqual
	case "GreaterThan":
		return v.GreaterThan
	case "GreaterThanEqual":
		return v.GreaterThanEqual
	case "IncMajor":
		return v.IncMajor
	case "IncMinor":
		return v.IncMinor
	case "IncPatch":
		return v.IncPatch
	case "SetPrerelease":
		return v.SetPrerelease
	case "SetMetadata":
		return v.SetMetadata
	case "MarshalJSON":
		return v.MarshalJSON
	case "MarshalText":
		return v.MarshalText
	}
	return nil
}

// timeMethod returns the methods of the results of now and of the date functions.
func timeMethod(v time.Time, name string) any {
	if fn := timePart(v, name); fn != nil {
		return fn
	}
	switch name {
	case "Format":
		return v.Format
	case "AppendFormat":
		return v.AppendFormat
	case "String":
		return v.String
	case "GoString":
		return v.GoString
	case "MarshalJSON":
		return v.MarshalJSON
	case "MarshalText":
		return v.MarshalText
	case "MarshalBinary":
		return v.MarshalBinary
	case "GobEncode":
		return v.GobEncode
	case "AppendText":
		return v.AppendText
	case "AppendBinary":
		return v.AppendBinary
	case "Add":
		return v.Add
	case "AddDate":
		return v.AddDate
	case "Sub":
		return v.Sub
	case "Round":
		return v.Round
	case "Truncate":
		return v.Truncate
	case "After":
		return v.After
	case "Before":
		return v.Before
	case "Compare":
		return v.Compare
	case "Equal":
		return v.Equal
	case "In":
		return v.In
	case "Local":
		return v.Local
	case "UTC":
		return v.UTC
	}
	return nil
}

// timePart returns the methods without arguments that return one part of the time.
func timePart(v time.Time, name string) any {
	switch name {
	case "Year":
		return v.Year
	case "Month":
		return v.Month
	case "Day":
		return v.Day
	case "Hour":
		return v.Hour
	case "Minute":
		return v.Minute
	case "Second":
		return v.Second
	case "Nanosecond":
		return v.Nanosecond
	case "Weekday":
		return v.Weekday
	case "YearDay":
		return v.YearDay
	case "Location":
		return v.Location
	case "IsDST":
		return v.IsDST
	case "IsZero":
		return v.IsZero
	case "Unix":
		return v.Unix
	case "UnixMilli":
		return v.UnixMilli
	case "UnixMicro":
		return v.UnixMicro
	case "UnixNano":
		return v.UnixNano
	}
	return nil
}

func durationMethod(v time.Duration, name string) any {
	switch name {
	case "Hours":
		return v.Hours
	case "Minutes":
		return v.Minutes
	case "Seconds":
		return v.Seconds
	case "Milliseconds":
		return v.Milliseconds
	case "Microseconds":
		return v.Microseconds
	case "Nanoseconds":
		return v.Nanoseconds
	case "Abs":
		return v.Abs
	case "Round":
		return v.Round
	case "Truncate":
		return v.Truncate
	case "String":
		return v.String
	}
	return nil
}
