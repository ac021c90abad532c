// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"strings"
	"sync"

	"github.com/moonhelm/moonhelm/docs"
)

// function is the description of a function of templates.
type function struct{ text, example, output string }

func (f function) markdown(name string) string {
	out := "**" + name + "**: " + f.text
	if f.example != "" {
		out += "\n\n```gotmpl\n" + f.example + "\n```\n→ `" + strings.Trim(f.output, "`") + "`"
	}
	return out
}

// functions are the functions of templates by their names, from the page of the documentation
// that has them all.
var functions = sync.OnceValue(func() map[string]function {
	out := map[string]function{}
	for line := range strings.Lines(docs.TemplateFunctions) {
		cells := cellsOf(line)
		if len(cells) < 2 || !strings.HasPrefix(cells[0], "`") {
			continue
		}
		f := function{text: cells[1]}
		if len(cells) > 3 {
			f.example, f.output = strings.Trim(cells[2], "`"), cells[3]
		}
		for name := range strings.SplitSeq(cells[0], ",") {
			out[strings.Trim(strings.TrimSpace(name), "`")] = f
		}
	}
	return out
})

// cellsOf returns the cells of a line of a Markdown table.
func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "| ") {
		return nil
	}
	const bar = "\x00"
	line = strings.ReplaceAll(line, `\|`, bar)
	var out []string
	for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		out = append(out, strings.TrimSpace(strings.ReplaceAll(cell, bar, "|")))
	}
	return out
}

// keywords are the words of the template language.
var keywords = map[string]string{
	"if":       "The text up to `end` or `else`, if the value is not empty",
	"else":     "The other branch of `if`, `with` and `range`",
	"end":      "Ends `if`, `with`, `range`, `define` and `block`",
	"with":     "The text up to `end` with the value as the dot, if it is not empty",
	"range":    "The text up to `end` for each item of a list or a map, with the item as the dot",
	"define":   "A named template, for `include` and `template`",
	"template": "The output of a named template. `include` gives it as a text for a pipe",
	"block":    "A named template, defined and used here",
	"break":    "Ends the `range`",
	"continue": "Goes on with the next item of the `range`",
}

// objects are what the dot of a template has, by the path.
var objects = map[string]map[string]string{
	"": {
		"Values": "The values of the chart", "Release": "The release", "Chart": "What is in Chart.yaml",
		"Capabilities": "What the cluster has", "Files": "The files of the chart other than templates",
		"Template": "This template", "Subcharts": "The contexts of the subcharts",
	},
	"Release": {
		"Name": "The name of the release", "Namespace": "The namespace of the release",
		"Revision": "The number of the revision", "Service": "`Helm`", "IsInstall": "True in an install",
		"IsUpgrade": "True in an upgrade or a rollback",
	},
	"Chart": {
		"Name": "The name of the chart", "Version": "The version of the chart",
		"AppVersion":  "The version of the application",
		"Description": "The description", "Type": "`application` or `library`", "Keywords": "The keywords", "Home": "The homepage",
		"Sources": "The sources", "Icon": "The icon", "KubeVersion": "The versions of Kubernetes", "APIVersion": "`v2`",
		"Annotations": "The annotations", "Dependencies": "The dependencies", "Maintainers": "The maintainers",
		"Deprecated": "True if it is deprecated", "IsRoot": "True if it is not a subchart",
		"Condition": "The condition", "Tags": "The tags",
	},
	"Capabilities": {
		"KubeVersion": "The version of Kubernetes", "APIVersions": "The versions of APIs: `.Has \"apps/v1\"`",
		"HelmVersion": "The version of Helm",
	},
	"Capabilities.KubeVersion": {
		"Version": "`v1.34.1`", "GitVersion": "`v1.34.1`", "Major": "`1`", "Minor": "`34`",
	},
	"Capabilities.APIVersions": {"Has": "Reports whether the cluster has an API: `.Has \"apps/v1/Deployment\"`"},
	"Capabilities.HelmVersion": {
		"Version": "The version", "GitCommit": "The commit", "GitTreeState": "The state of the tree",
		"GoVersion": "The version of Go",
	},
	"Files": {
		"Get": "The content of a file: `.Files.Get \"a.txt\"`", "GetBytes": "The content of a file as bytes",
		"Glob": "The files that match a pattern", "Lines": "The lines of a file",
		"AsConfig": "The files as the data of a ConfigMap", "AsSecrets": "The files as the data of a Secret",
	},
	"Template": {"Name": "The path of this template", "BasePath": "The path of the directory of templates"},
}
