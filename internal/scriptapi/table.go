// SPDX-License-Identifier: Apache-2.0

package scriptapi

// Classes returns all classes, the context first.
func Classes() []Class {
	var out []Class
	for _, c := range classes() {
		out = append(out, c.make())
	}
	return out
}

// classMaker makes a class: the engine asks for one at a time.
type classMaker struct {
	name string
	make func() Class
}

func classes() []classMaker {
	return []classMaker{
		{"Context", contextClass}, {"Chart", chartClass}, {"Release", releaseClass}, {"Capabilities", capabilitiesClass},
		{"Lint", lintClass}, {"File", fileClass}, {"Template", templateClass}, {"Dependency", dependencyClass},
		{"Object", objectClass}, {"Maintainer", maintainerClass}, {"Result", resultClass},
	}
}

func contextClass() Class {
	return Class{Name: "Context", Path: "ctx", Text: "what a handler is given", ReadOnly: true, Fields: []Field{
		{Name: "chart", Type: "Chart", Optional: true, Text: "what Chart.yaml says, always read-only: see below"},
		{Name: "release", Type: "Release", Text: "the release, always read-only: see below"},
		{Name: "capabilities", Type: "Capabilities", Text: "the cluster, always read-only: see below"},
		{Name: "values", Type: "table<string, any>", Optional: true, Mutable: true,
			Text: "the values that this chart's templates see; subcharts' below their names, `global` for all"},
		{Name: "files", Type: "File[]", Optional: true, Mutable: true,
			Text: "a list of the chart's files but for templates and `ext/`: tables with `name` and `data`"},
		{Name: "templates", Type: "Template[]", Optional: true, Mutable: true,
			Text: "a list of the chart's templates, the same"},
		{Name: "dependencies", Type: "Dependency[]", Optional: true, Mutable: true,
			Text: "the chart's dependencies, as Chart.yaml lists them"},
		{Name: "objects", Type: "Object[]", Optional: true, Mutable: true,
			Text: "the objects of this chart and its subcharts, hooks among them, in the order of installation"},
		{Name: "charts", Type: "table<string, Context>", Text: "the contexts of subcharts by their names: `ctx.charts.db`"},
		{Name: "minimal", Type: "boolean", Text: "true where there is no chart"},
		{Name: "dryRun", Type: "boolean", Text: "true where nothing will be written"},
		{Name: "results", Type: "Result[]", Optional: true,
			Text: "`post-test`, `failed-test`: a list of tables with `name`, `kind` and `phase`"},
		{Name: "lint", Type: "Lint", Optional: true,
			Text: "`pre-lint`: `ctx.lint.warn(path, text)` and `ctx.lint.error(path, text)`"},
	}}
}

func chartClass() Class {
	return Class{Name: "Chart", Path: "ctx.chart", Text: "what Chart.yaml says", ReadOnly: true, Fields: []Field{
		{Name: "apiVersion", Type: "string", Text: `"v1" or "v2"`},
		{Name: "name", Type: "string", Text: "its name"},
		{Name: "version", Type: "string", Mutable: true, Text: "its version"},
		{Name: "appVersion", Type: "string", Mutable: true, Text: "the version of what it installs"},
		{Name: "description", Type: "string", Text: "one sentence"},
		{Name: "type", Type: "string", Text: `"application" or "library"; "" where Chart.yaml does not say`},
		{Name: "keywords", Type: "string[]", Text: "a list of words"},
		{Name: "home", Type: "string", Text: "an address"},
		{Name: "sources", Type: "string[]", Text: "a list of addresses"},
		{Name: "maintainers", Type: "Maintainer[]", Text: "a list of tables with `name`, `email` and `url`"},
		{Name: "icon", Type: "string", Text: "an address"},
		{Name: "kubeVersion", Type: "string", Text: "the range of Kubernetes versions that it wants"},
		{Name: "kubernetesVersions", Type: "string", Text: "the same"},
		{Name: "annotations", Type: "table<string, string>", Text: "a table"},
		{Name: "deprecated", Type: "boolean", Text: "true where it should not be used any more"},
	}}
}

func releaseClass() Class {
	return Class{Name: "Release", Path: "ctx.release", Text: "the release", ReadOnly: true, Fields: []Field{
		{Name: "name", Type: "string", Text: "its name"},
		{Name: "namespace", Type: "string", Text: "where its objects are, unless they say otherwise"},
		{Name: "revision", Type: "integer", Text: "1 for the first"},
		{Name: "service", Type: "string", Text: `"Helm"`},
		{Name: "isInstall", Type: "boolean", Text: "true when it is installed"},
		{Name: "isUpgrade", Type: "boolean", Text: "true when it is upgraded"},
	}}
}

func capabilitiesClass() Class {
	return Class{Name: "Capabilities", Path: "ctx.capabilities", Text: "the cluster", ReadOnly: true, Fields: []Field{
		{Name: "helmVersion", Type: "string", Text: "the version of helm"},
		{Name: "kubernetesVersion", Type: "string",
			Text: "the cluster's version; without a cluster, the one that helm takes for granted"},
		{Name: "apiVersions", Type: "string[]", Text: `a list: "v1", "batch/v1", "apps/v1/Deployment"`},
		{Name: "has", Type: "fun(apiVersion: string): boolean",
			Text:   "`ctx.capabilities.has(\"batch/v1\")` reports whether the list has it",
			Params: []Param{{Name: "apiVersion", Type: "string"}}, Returns: "boolean"},
	}}
}

func lintClass() Class {
	params := []Param{{Name: "path", Type: "string"}, {Name: "text", Type: "string"}}
	fields := []Field{
		{Name: "warn", Type: "fun(path: string, text: string)", Text: "adds a warning", Params: params},
		{Name: "error", Type: "fun(path: string, text: string)", Text: "adds an error", Params: params},
	}
	return Class{Name: "Lint", Path: "ctx.lint", Text: "adds findings to those of helm lint", ReadOnly: true,
		Fields: fields}
}

func fileClass() Class {
	return Class{Name: "File", Text: "a file of the chart", Fields: []Field{
		{Name: "name", Type: "string", Mutable: true, Text: "its path in the chart"},
		{Name: "data", Type: "string", Mutable: true, Text: "what it holds"},
	}}
}

func templateClass() Class {
	return Class{Name: "Template", Text: "a template of the chart", Fields: []Field{
		{Name: "name", Type: "string", Mutable: true, Text: "its path in the chart"},
		{Name: "data", Type: "string", Mutable: true, Text: "its text"},
	}}
}

func dependencyClass() Class {
	return Class{Name: "Dependency", Text: "an entry of Chart.yaml's dependencies", Fields: []Field{
		{Name: "name", Type: "string", Mutable: true, Text: "the name of the chart"},
		{Name: "version", Type: "string", Mutable: true, Text: "the range of versions"},
		{Name: "repository", Type: "string", Mutable: true, Text: "where it is found"},
		{Name: "condition", Type: "string", Optional: true, Mutable: true, Text: "the values that switch it"},
		{Name: "tags", Type: "string[]", Optional: true, Mutable: true, Text: "the tags that switch it"},
		{Name: "alias", Type: "string", Optional: true, Mutable: true, Text: "its name in this chart"},
		{Name: "enabled", Type: "boolean", Optional: true, Mutable: true, Text: "the field of Chart.yaml"},
		{Name: "import-values", Type: "any[]", Optional: true, Mutable: true, Text: "what the parent takes over"},
		{Name: "depends-on", Type: "string[]", Optional: true, Mutable: true, Text: "what is installed before it"},
	}}
}

func objectClass() Class {
	return Class{Name: "Object", Text: "an object of Kubernetes", Open: true, Fields: []Field{
		{Name: "apiVersion", Type: "string", Mutable: true, Text: "its API version"},
		{Name: "kind", Type: "string", Mutable: true, Text: "its kind"},
		{Name: "metadata", Type: "table<string, any>", Optional: true, Mutable: true, Text: "its metadata"},
		{Name: "name", Type: "string", Optional: true, Mutable: true, Text: "another name of `metadata.name`"},
	}}
}

func maintainerClass() Class {
	return Class{Name: "Maintainer", Text: "a maintainer of the chart", ReadOnly: true, Fields: []Field{
		{Name: "name", Type: "string", Text: "the maintainer's name"},
		{Name: "email", Type: "string", Text: "an address"},
		{Name: "url", Type: "string", Text: "an address"},
	}}
}

func resultClass() Class {
	return Class{Name: "Result", Text: "the result of a test", ReadOnly: true, Fields: []Field{
		{Name: "name", Type: "string", Text: "the name of the test's object"},
		{Name: "kind", Type: "string", Text: "its kind"},
		{Name: "phase", Type: "string", Text: `"Succeeded" or "Failed"`},
	}}
}

// Functions returns the functions that every script has besides Lua's and those of modules.
func Functions() []Function {
	return []Function{
		{Name: "events.on", Signature: "events.on(event, [priority,] handler)",
			Text: "registers `handler(ctx)`. The priority runs from 0 to 1; without one it is 0.5",
			Params: []Param{{Name: "event", Type: "Event"}, {Name: "priority", Type: "number", Optional: true},
				{Name: "handler", Type: "fun(ctx: Context)"}}},
		{Name: "events.off", Signature: "events.off{chart=, event=}",
			Text:   "drops handlers: of that chart, for that event, or both; of this chart and those below it",
			Params: []Param{{Name: "which", Type: "{chart?: string, event?: Event}", Optional: true}}},
		{Name: "subcharts.get", Signature: "subcharts.get(name)", Text: "the globals of a direct subchart's scripts",
			Params: []Param{{Name: "name", Type: "string"}}, Returns: "table<string, any>"},
		{Name: "subcharts.init", Signature: "subcharts.init(events [, names])",
			Text: "runs the `init` of all direct subcharts, or of those named",
			Params: []Param{{Name: "events", Type: "table"},
				{Name: "names", Type: "string|string[]", Optional: true}}},
		{Name: "require", Signature: "require(name)",
			Text: "loads `ext/lua/NAME.lua` once and returns what it returns; `require(\"dep/NAME\")` does so in a direct " +
				"dependency or library",
			Params: []Param{{Name: "name", Type: "string"}}, Returns: "any"},
		{Name: "template.func", Signature: "template.func(name, function)", Text: "gives this chart's templates a function",
			Params: []Param{{Name: "name", Type: "string"}, {Name: "function", Type: "fun(...: any): any"}}},
		{Name: "kube.lookup", Signature: "kube.lookup(apiVersion, kind, namespace, name)",
			Text: "reads an object from the cluster; without a name a list. An empty table where there is nothing",
			Params: []Param{{Name: "apiVersion", Type: "string"}, {Name: "kind", Type: "string"},
				{Name: "namespace", Type: "string", Optional: true}, {Name: "name", Type: "string", Optional: true}},
			Returns: "table<string, any>"},
		{Name: "print", Signature: "print(...)", Text: "writes a line to standard error, after the chart's name; a table " +
			"as YAML",
			Params: []Param{{Name: "...", Type: "any"}}},
	}
}
