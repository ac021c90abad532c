// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/lines"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/internal/yaml"
	"github.com/moonhelm/moonhelm/release"
)

// Rendered is the output of a template of a chart.
type Rendered struct {
	// Name is the template's path in the chart: "templates/pod.yaml".
	Name string
	// Source is the template's text, to which the lines of findings refer.
	Source string
	// Content is the output.
	Content string
	// Incomplete is set if values that templates require were missing. The template has rendered
	// empty text in their place.
	Incomplete bool
}

// Objects checks the objects that a chart's own templates rendered or its scripts added. If schemas
// is not nil, the objects must match them. Objects ignores files that do not have the extension of
// YAML or of scripts, such as notes.
func Objects(files []Rendered, kube KubeVersion, schemas *Schemas) []Finding {
	var out []Finding
	for i := range files {
		switch path.Ext(files[i].Name) {
		case ".yaml", ".yml", ".lua":
			o := objects{file: &files[i], kube: kube, schemas: schemas}
			o.check()
			out = append(out, o.findings...)
		}
	}
	return out
}

// objects collects findings about one rendered file.
type objects struct {
	file     *Rendered
	kube     KubeVersion
	schemas  *Schemas
	lines    *lines.Map // nil until it is needed
	findings []Finding
}

// add adds a finding about a line of the output.
func (o *objects) add(s Severity, line int, format string, args ...any) {
	if o.lines == nil {
		o.lines = lines.New(o.file.Source, o.file.Content)
	}
	o.findings = append(o.findings, Finding{s, o.file.Name, o.lines.Source(line), fmt.Sprintf(format, args...)})
}

func (o *objects) check() {
	if strings.TrimSpace(o.file.Content) == "" {
		return
	}
	o.indent()
	docs := documents(o.file.Content)
	selector := mentionsSelector(o.file.Content)
	for i := range docs {
		d := &docs[i]
		h, err := d.head()
		if err != nil {
			o.syntax(err)
			continue
		}
		if h == nil {
			continue
		}
		o.duplicateKeys(d)
		o.kind(d, h)
		o.name(d, h)
		o.deprecated(d, h)
		o.selector(d, h, selector)
		o.listItems(d, h)
		o.annotations(d)
		o.fields(d, h)
	}
}

// syntax adds a finding with the line of the output, which may differ from the template's, and the
// lines around it.
func (o *objects) syntax(err *textError) {
	line, shown, excerpt := o.notBlank(err.line), "", ""
	if text := o.output(line); err.exact && strings.TrimSpace(text) != "" {
		shown = fmt.Sprintf(" (line %d of the output: %s)", line, truncate.Runes(strings.TrimSpace(text), 80, "…"))
		excerpt = "\n" + yaml.Excerpt(o.file.Content, line)
	}
	o.add(Error, line, "unable to parse YAML: %s%s%s", err.text, shown, excerpt)
}

// output returns a line of the output, or "" if there is no such line.
func (o *objects) output(line int) string {
	all := strings.Split(o.file.Content, "\n")
	if line < 1 || line > len(all) {
		return ""
	}
	return all[line-1]
}

// notBlank returns the first line from line on that is not blank: parsers report the line
// after the last one that is valid.
func (o *objects) notBlank(line int) int {
	all := strings.Split(o.file.Content, "\n")
	for n := max(line, 1); n <= len(all); n++ {
		if strings.TrimSpace(all[n-1]) != "" {
			return n
		}
	}
	return line
}

// indent warns if the first line that is not blank is indented, because later lines with a
// smaller indentation are then not part of the same map.
func (o *objects) indent() {
	for i, line := range strings.Split(o.file.Content, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if line == "" {
			continue
		}
		if line[0] == ' ' || line[0] == '\t' {
			o.add(Warning, i+1, "document starts with an illegal indent: %q, which may cause parsing problems",
				truncate.Runes(line, 80, "…"))
		}
		return
	}
}

// fields reports fields of the wrong type, and the fields that do not match the schemas.
func (o *objects) fields(d *document, h *head) {
	var object map[string]any
	if yaml.Unmarshal([]byte(d.text), &object) != nil {
		return
	}
	if o.file.Incomplete {
		dropEmpty(object)
	}
	problems, known := o.schemas.check(object)
	if !known {
		problems = checkTypes(object)
		o.unserved(d, h)
	}
	for _, p := range problems {
		if o.file.Incomplete && p.Missing() {
			continue
		}
		o.add(Error, d.first+max(yaml.FieldLine(d.node(), p.Field), 1)-1, "%s", p)
	}
}

// unserved reports a kind that the Kubernetes version does not serve.
func (o *objects) unserved(d *document, h *head) {
	if oldAPIOf(h, o.kube) != nil {
		return // reported as deprecated
	}
	if problem := o.schemas.unserved(h.APIVersion, h.Kind); problem != "" {
		o.add(Error, d.lineOf("apiVersion"), "%s", problem)
	}
}

// duplicateKeys reports keys that occur more than once in a map.
func (o *objects) duplicateKeys(d *document) {
	for _, k := range duplicates(d.node(), 0) {
		o.add(Info, d.first+k.line-1, "key %q is set twice in the same map; the last one counts", k.key)
	}
}

// kind reports objects that name no kind. It is an Info only, as Helm's linter accepts them.
func (o *objects) kind(d *document, h *head) {
	if o.file.Incomplete {
		return
	}
	if h.APIVersion == "" {
		o.add(Info, d.lineOf("apiVersion"), "apiVersion is not set: a cluster refuses such an object")
	}
	if h.Kind == "" {
		o.add(Info, d.lineOf("kind"), "kind is not set: a cluster refuses such an object")
	}
}

func (o *objects) name(d *document, h *head) {
	if problem := nameProblem(h.Kind, h.Metadata.Name); problem != "" {
		o.add(Warning, d.lineOf("metadata", "name"), "object name does not conform to Kubernetes naming requirements: %q: %s",
			h.Metadata.Name, problem)
	}
}

// mentionsSelector reports whether text contains the fields of a selector anywhere, as Helm does.
func mentionsSelector(text string) bool {
	return strings.Contains(text, "matchLabels") || strings.Contains(text, "matchExpressions")
}

func (o *objects) selector(d *document, h *head, inFile bool) {
	switch h.Kind {
	case "Deployment", "ReplicaSet", "DaemonSet", "StatefulSet":
	default:
		return
	}
	severity := Error
	if inFile {
		severity = Info // Helm accepts the selector of another object in the file
	}
	if !mentionsSelector(d.text) {
		o.add(severity, d.lineOf("spec", "selector"), "a %s must contain matchLabels or matchExpressions, and %q does not",
			h.Kind, h.Metadata.Name)
	}
}

const annotationPrefix = "helm.sh/"

// listItems reports annotations for Helm on the items of a List, which Helm ignores.
func (o *objects) listItems(d *document, h *head) {
	if h.Kind != "List" {
		return
	}
	for _, a := range itemAnnotations(d.node()) {
		severity := Info
		if a.key == annotationPrefix+"resource-policy" {
			severity = Error
		}
		o.add(severity, d.first+a.line-1, "annotation '%s' within List objects are ignored", a.key)
	}
}

// annotations checks the annotations for Helm.
func (o *objects) annotations(d *document) {
	all := annotations(d.node())
	for _, a := range all {
		line := d.first + a.line - 1
		words := strings.Split(strings.ToLower(a.value), ",")
		switch strings.TrimPrefix(a.key, annotationPrefix) {
		case "hook":
			o.unknownValue(Warning, line, "hook event", words, hookEvents(), "the object will not be installed at all")
		case "hook-delete-policy":
			o.unknownValue(Warning, line, "hook delete policy", words, deletePolicies(), "it has no effect")
		case "hook-output-log-policy":
			o.unknownValue(Info, line, "hook output log policy", words, outputLogPolicies(), "it has no effect")
		case "resource-policy":
			o.unknownValue(Info, line, "resource policy", words, []string{"keep"}, "it has no effect")
		case "resource-group":
			if strings.TrimSpace(a.value) == "" {
				o.add(Warning, line, "the resource group has no name: the object is in no group")
			}
		case "depends-on/resource-groups":
			o.resourceGroups(line, a.value, all)
		case "hook-weight":
			if !isInteger(a.value) {
				o.add(Info, line, "hook weight %q is not an integer and counts as 0", a.value)
			}
		}
	}
}

// resourceGroups checks the resource groups that an object depends on.
func (o *objects) resourceGroups(line int, value string, all []annotation) {
	names := strings.Split(value, ",")
	if strings.HasPrefix(strings.TrimSpace(value), "[") {
		names = nil
		if err := json.Unmarshal([]byte(value), &names); err != nil {
			o.add(Error, line, `the resource groups to wait for must be a list of names, such as ["a", "b"]: %s`, err)
			return
		}
	}
	for _, a := range all {
		own := strings.TrimSpace(a.value)
		if a.key == annotationPrefix+"resource-group" && own != "" &&
			slices.ContainsFunc(names, func(n string) bool { return strings.TrimSpace(n) == own }) {
			o.add(Error, line, "resource group %q waits for itself", own)
		}
	}
}

func (o *objects) unknownValue(s Severity, line int, what string, words, known []string, effect string) {
	for _, w := range words {
		if w = strings.TrimSpace(w); !slices.Contains(known, w) {
			more := ""
			if what == "hook event" {
				if instead := release.ReplacedEvent(w); instead != "" {
					more = "; " + instead
				}
			}
			o.add(s, line, "unknown %s %q, %s (known: %s)%s", what, w, effect, strings.Join(known, ", "), more)
		}
	}
}
