// SPDX-License-Identifier: Apache-2.0

package mutated

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Difference is a difference between the two sides.
type Difference struct {
	Source string // of the document; "" if one side fails or has other documents
	Path   string
	Ours   string
	Helm   string
}

func (d Difference) String() string {
	return fmt.Sprintf("%s %s\n  ours: %s\n  helm: %s", d.Source, d.Path, short(d.Ours), short(d.Helm))
}

func short(text string) string {
	if len(text) > 600 {
		return text[:600] + "..."
	}
	return text
}

// class returns a key that is mostly the same for differences with one cause.
func (d Difference) class() string {
	if d.Source != "" {
		return d.Source + " " + d.Path
	}
	return d.Path + " ours: " + words(d.Ours) + " helm: " + words(d.Helm)
}

// words returns the parts of an error's text that do not depend on names and values.
func words(text string) string {
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\n' })
	fields = slices.DeleteFunc(fields, func(w string) bool { return strings.ContainsAny(w, `"0123456789{}'/<>`) })
	if len(fields) > 40 {
		fields = fields[len(fields)-40:]
	}
	return strings.Join(fields, " ")
}

// Compare returns the differences between ours and Helm's: whether they fail, the order and the
// sources of documents, and their data.
func Compare(ours, helm *Output) []Difference {
	if (ours.Error == "") != (helm.Error == "") {
		return []Difference{{Path: "fails", Ours: ours.Error, Helm: helm.Error}}
	}
	a, b := filled(ours), filled(helm)
	if got, want := sources(a), sources(b); got != want {
		return []Difference{{Path: "documents", Ours: got, Helm: want}}
	}
	var out []Difference
	for i, d := range b {
		o := a[i]
		if strings.TrimSpace(o.Text) == strings.TrimSpace(d.Text) {
			continue
		}
		a, err1 := data(o.Text)
		b, err2 := data(d.Text)
		if err1 != nil && err2 != nil {
			a, b = strings.TrimSpace(o.Text), strings.TrimSpace(d.Text)
		}
		out = append(out, differences(d.Source, "", a, b)...)
	}
	return out
}

// missing is the value of a missing key.
const missing = "(missing)"

// filled returns the documents that are not empty.
func filled(o *Output) []Document {
	return slices.DeleteFunc(slices.Clone(o.Documents), func(d Document) bool { return strings.TrimSpace(d.Text) == "" })
}

func sources(docs []Document) string {
	var b strings.Builder
	for _, d := range docs {
		b.WriteString(d.Source + "\n")
	}
	return b.String()
}

// data returns a document as the API server reads it.
func data(text string) (any, error) {
	var out any
	err := yaml.Unmarshal([]byte(text), &out)
	return out, err
}

// Differences returns the differences between two values of JSON data. Their paths begin with
// path.
func Differences(path string, ours, helm any) []Difference { return differences("", path, ours, helm) }

func differences(source, path string, ours, helm any) []Difference {
	if reflect.DeepEqual(ours, helm) {
		return nil
	}
	a, ok1 := ours.(map[string]any)
	b, ok2 := helm.(map[string]any)
	if ok1 && ok2 {
		keys := maps.Clone(a)
		maps.Copy(keys, b)
		var out []Difference
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			av, in1 := a[k]
			bv, in2 := b[k]
			switch p := path + "." + k; {
			case !in1:
				out = append(out, Difference{source, p, missing, fmt.Sprintf("%#v", bv)})
			case !in2:
				out = append(out, Difference{source, p, fmt.Sprintf("%#v", av), missing})
			default:
				out = append(out, differences(source, p, av, bv)...)
			}
		}
		return out
	}
	al, ok1 := ours.([]any)
	bl, ok2 := helm.([]any)
	if ok1 && ok2 && len(al) == len(bl) {
		var out []Difference
		for i := range al {
			out = append(out, differences(source, fmt.Sprintf("%s[%d]", path, i), al[i], bl[i])...)
		}
		return out
	}
	return []Difference{{source, path, fmt.Sprintf("%#v", ours), fmt.Sprintf("%#v", helm)}}
}

// Random returns the differences that two runs of Helm do not have, and the number of the
// others: passwords, certificates, dates and their checksums.
func Random(diffs []Difference, once, again *Output) (kept []Difference, random int) {
	unstable := map[string]bool{}
	for _, d := range Compare(once, again) {
		unstable[d.Source+" "+d.Path] = true
	}
	for _, d := range diffs {
		if unstable[d.Source+" "+d.Path] {
			random++
		} else {
			kept = append(kept, d)
		}
	}
	return kept, random
}
