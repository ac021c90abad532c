// SPDX-License-Identifier: Apache-2.0

package mutated

import (
	"slices"
	"strings"
)

// Decision is an intended difference from Helm that docs/differences.md describes.
type Decision struct {
	Name   string
	Reason string
	// Match reports whether a difference of a case is of this kind.
	Match func(c *Case, d Difference) bool
}

// Decided are the decisions about rendering.
var Decided = []Decision{
	{
		Name:   "imported values win",
		Reason: "imported values win over the parent's defaults, as Helm's documents show; Helm lets the parent's win",
		Match: func(c *Case, d Difference) bool {
			at, ok := strings.CutPrefix(d.Path, ".values."+ImportedBelow+".")
			return shownBy(d) && ok && (at == "shared" || at == "deep.shared" || c.setsDefault(ImportedBelow))
		},
	},
	{
		Name:   "imports leave subcharts alone",
		Reason: "two subcharts that import into one table: Helm writes the second's values into the first's own",
		Match: func(_ *Case, d Difference) bool {
			at := strings.Split(d.Path, ".")
			exported := len(at) > 4 && (at[3] == ExportedBelow || at[3] == "exports")
			again := len(at) > 4 && at[2] == ImportedBelow && slices.Contains(at, "table") // imported twice
			return shownBy(d) && (exported || again) && d.Ours == missing
		},
	},
	{
		Name:   "null is no values for a subchart",
		Reason: "Helm says type mismatch unless the parent's defaults hold a table there, where it does as ours",
		Match: func(_ *Case, d Difference) bool {
			return d.Ours == "" && d.fails("helm", "type mismatch on ") && strings.HasSuffix(d.Helm, ": %!t(<nil>)")
		},
	},
	{
		Name:   "limits on templates",
		Reason: "a number of replicas in the millions asks a template for as many items; Helm has no limit",
		Match: func(_ *Case, d Difference) bool {
			return d.Helm == "" && d.fails("ours", " is more than templates may ask for")
		},
	},
	{
		Name:   ".inf is not a name",
		Reason: "Helm renders an object whose name is .inf, and fails when it installs it",
		Match: func(_ *Case, d Difference) bool {
			return d.Helm == "" && d.fails("ours", "Inf is not a valid number here: an object is sent as JSON")
		},
	},
	{
		Name:   "--set makes a table of null",
		Reason: "--set a.b=1 after a: null; Helm ends with a failed interface conversion",
		Match: func(_ *Case, d Difference) bool {
			return d.Ours == "" && (d.fails("helm",
				"interface conversion: interface {} is nil, not map[string]interface {}") ||
				d.fails("helm", "failed parsing --set-json data "))
		},
	},
}

// setsDefault reports whether the case changes the chart's own values.yaml at key.
func (c *Case) setsDefault(key string) bool {
	return slices.ContainsFunc(c.Edits, func(e Edit) bool { return e.Form == InDefaults && e.Path[0] == key })
}

// shownBy reports whether a difference is in the values that an umbrella chart prints.
func shownBy(d Difference) bool {
	return strings.HasPrefix(d.Source, "umbrella-") && strings.Count(d.Source, "/") == 2
}

// decided returns the decision that explains a difference, or nil.
func decided(c *Case, d Difference) *Decision {
	for i := range Decided {
		if Decided[i].Match(c, d) {
			return &Decided[i]
		}
	}
	return nil
}

// fails reports whether only one side fails, with one of the messages.
func (d Difference) fails(side, words string) bool {
	text := d.Ours
	if side == "helm" {
		text = d.Helm
	}
	return d.Path == "fails" && strings.Contains(text, words)
}
