---@meta

-- What charts' scripts can use, for editors. Written by "helm script types";
-- changes are lost.

---The name of an event.
---@alias helm.Event
---| "chart-loaded"
---| "pre-create"
---| "post-create"
---| "pre-dependency-build"
---| "post-dependency-build"
---| "pre-render"
---| "post-render"
---| "pre-install"
---| "post-install"
---| "pre-upgrade"
---| "post-upgrade"
---| "pre-rollback"
---| "post-rollback"
---| "pre-delete"
---| "post-delete"
---| "pre-lint"
---| "post-template"
---| "pre-test"
---| "post-test"
---| "failed-test"
---| "pre-package"
---| "pre-load" # another name of chart-loaded

---What a handler is given.
---@class helm.Context
---@field chart helm.Chart # what Chart.yaml says, always read-only
---@field release helm.Release # the release, always read-only
---@field capabilities helm.Capabilities # the cluster, always read-only
---@field values table<string, any> # the values that this chart's templates see; subcharts' below their names, `global` for all
---@field files helm.File[] # a list of the chart's files but for templates and `ext/`: tables with `name` and `data`
---@field templates helm.Template[] # a list of the chart's templates, the same
---@field dependencies helm.Dependency[] # the chart's dependencies, as Chart.yaml lists them
---@field objects helm.Object[] # the objects of this chart and its subcharts, hooks among them, in the order of installation
---@field charts table<string, helm.Context> # the contexts of subcharts by their names: `ctx.charts.db`
---@field minimal boolean # true where there is no chart
---@field dryRun boolean # true where nothing will be written
---@field results helm.Result[] # `post-test`, `failed-test`: a list of tables with `name`, `kind` and `phase`
---@field lint helm.Lint # `pre-lint`: `ctx.lint.warn(path, text)` and `ctx.lint.error(path, text)`

---What Chart.yaml says.
---@class helm.Chart
---@field apiVersion string # "v1" or "v2"
---@field name string # its name
---@field version string # its version
---@field appVersion string # the version of what it installs
---@field description string # one sentence
---@field type string # "application" or "library"; "" where Chart.yaml does not say
---@field keywords string[] # a list of words
---@field home string # an address
---@field sources string[] # a list of addresses
---@field maintainers helm.Maintainer[] # a list of tables with `name`, `email` and `url`
---@field icon string # an address
---@field kubeVersion string # the range of Kubernetes versions that it wants
---@field kubernetesVersions string # the same
---@field annotations table<string, string> # a table
---@field deprecated boolean # true where it should not be used any more

---The release.
---@class helm.Release
---@field name string # its name
---@field namespace string # where its objects are, unless they say otherwise
---@field revision integer # 1 for the first
---@field service string # "Helm"
---@field isInstall boolean # true when it is installed
---@field isUpgrade boolean # true when it is upgraded

---The cluster.
---@class helm.Capabilities
---@field helmVersion string # the version of helm
---@field kubernetesVersion string # the cluster's version; without a cluster, the one that helm takes for granted
---@field apiVersions string[] # a list: "v1", "batch/v1", "apps/v1/Deployment"
---@field has fun(apiVersion: string): boolean # `ctx.capabilities.has("batch/v1")` reports whether the list has it

---Adds findings to those of helm lint.
---@class helm.Lint
---@field warn fun(path: string, text: string) # adds a warning
---@field error fun(path: string, text: string) # adds an error

---A file of the chart.
---@class helm.File
---@field name string # its path in the chart
---@field data string # what it holds

---A template of the chart.
---@class helm.Template
---@field name string # its path in the chart
---@field data string # its text

---An entry of Chart.yaml's dependencies.
---@class helm.Dependency
---@field name string # the name of the chart
---@field version string # the range of versions
---@field repository string # where it is found
---@field condition string # the values that switch it
---@field tags string[] # the tags that switch it
---@field alias string # its name in this chart
---@field enabled boolean # the field of Chart.yaml
---@field ["import-values"] any[] # what the parent takes over
---@field ["depends-on"] string[] # what is installed before it

---An object of Kubernetes.
---@class helm.Object
---@field apiVersion string # its API version
---@field kind string # its kind
---@field metadata table<string, any> # its metadata
---@field name string # another name of `metadata.name`
---@field [string] any

---A maintainer of the chart.
---@class helm.Maintainer
---@field name string # the maintainer's name
---@field email string # an address
---@field url string # an address

---The result of a test.
---@class helm.Result
---@field name string # the name of the test's object
---@field kind string # its kind
---@field phase string # "Succeeded" or "Failed"

events = {}

---Registers `handler(ctx)`. The priority runs from 0 to 1; without one it is 0.5.
---@param event helm.Event
---@param priority number
---@param handler fun(ctx: helm.Context)
---@overload fun(event: helm.Event, handler: fun(ctx: helm.Context))
function events.on(event, priority, handler) end

---Drops handlers: of that chart, for that event, or both; of this chart and those below it.
---@param which? {chart?: string, event?: helm.Event}
function events.off(which) end

subcharts = {}

---The globals of a direct subchart's scripts.
---@param name string
---@return table<string, any>
function subcharts.get(name) end

---Runs the `init` of all direct subcharts, or of those named.
---@param events table
---@param names? string|string[]
function subcharts.init(events, names) end

---Loads `ext/lua/NAME.lua` once and returns what it returns; `require("dep/NAME")` does so in a direct dependency or library.
---@param name string
---@return any
function require(name) end

template = {}

---Gives this chart's templates a function.
---@param name string
---@param f fun(...: any): any
function template.func(name, f) end

kube = {}

---Reads an object from the cluster; without a name a list. An empty table where there is nothing.
---@param apiVersion string
---@param kind string
---@param namespace? string
---@param name? string
---@return table<string, any>
function kube.lookup(apiVersion, kind, namespace, name) end

---Writes a line to standard error, after the chart's name; a table as YAML.
---@param ... any
function print(...) end

event = events

subchart = subcharts

---The parts of a version.
---@class helm.Version
---@field major integer
---@field minor integer
---@field patch integer
---@field prerelease string
---@field metadata string
---@field text string

helm = {}

---Reports whether scripts have a function or a field of that name here: `helm.has("http.get")`, `helm.has("ctx.dryRun")`. Reading one that is not there is an error.
---@param name string
---@return boolean
function helm.has(name) end

---The null of YAML and JSON. It is a value of its own, not nil: it keeps its place in a table, and is true in a condition.
---@type any
helm.null = {}

---Marks a table as a list and returns it, so that it is written as a list even where it is empty.
---@param table? table
---@return table
function helm.list(table) end

---Marks a table as a map and returns it. Its numbered keys are then text in what is written.
---@param table? table
---@return table
function helm.map(table) end

---Stops the operation with this message, unless pcall catches it.
---@param message string
function helm.fail(message) end

yaml = {}

---Reads one YAML document by the rules by which values files are read (yes and on are true, 0777 is octal, of two equal keys the last counts). Integers stay integers and floats floats; no document is helm.null, several are an error.
---@param text string
---@return any
function yaml.decode(text) end

---Reads all YAML documents of a text. Those that hold nothing are left out.
---@param text string
---@return any[]
function yaml.decodeAll(text) end

---Writes YAML, keys in sorted order, indented by two spaces. Text that would be read as something else is quoted; yaml.decode gives the same value back.
---@param value any
---@return string
function yaml.encode(value) end

json = {}

---Reads JSON. Numbers without a fraction and an exponent are integers; a key that an object has twice is an error.
---@param text string
---@return any
function json.decode(text) end

---Writes JSON, keys in sorted order, on one line or indented by so many spaces a level.
---@param value any
---@param indent? integer
---@return string
function json.encode(value, indent) end

base64 = {}

---Writes bytes as standard base64, padded, on one line.
---@param bytes string
---@return string
function base64.encode(bytes) end

---Reads standard base64 with its padding; line ends in it do not matter.
---@param text string
---@return string
function base64.decode(text) end

---The SHA-256 digest of bytes, in hexadecimal.
---@class helm.sha256
---@overload fun(bytes: string): string
sha256 = {}

---The same as sha256(bytes).
---@param bytes string
---@return string
function sha256.sum(bytes) end

regex = {}

---Reports whether the pattern, in RE2 syntax, matches anywhere in the text.
---@param pattern string
---@param text string
---@return boolean
function regex.match(pattern, text) end

---The first match and what its groups captured ("" for one that took no part), or nil.
---@param pattern string
---@param text string
---@return string
---@return string ...
function regex.find(pattern, text) end

---All matches that do not overlap, each a list of the match and what its groups captured.
---@param pattern string
---@param text string
---@return any[]
function regex.findAll(pattern, text) end

---Replaces all matches by a text, in which $1 or ${1} is what a group captured and $$ a dollar sign, or by what a function makes of the match and its captures; nil or false from it keeps the match.
---@param pattern string
---@param text string
---@param replacement string|fun(match: string, ...: string): string?
---@return string
function regex.replace(pattern, text, replacement) end

---Cuts the text at the matches, into n pieces at most where n is given.
---@param pattern string
---@param text string
---@param n? integer
---@return any[]
function regex.split(pattern, text, n) end

semver = {}

---The parts of a version: major, minor, patch (integers), prerelease, metadata and text, the whole in its normal form. A leading v and missing parts are allowed, as in a chart.
---@param version string
---@return helm.Version
function semver.parse(version) end

----1, 0 or 1 as version a is lower than, equal to or higher than b.
---@param a string
---@param b string
---@return number
function semver.compare(a, b) end

---Reports whether a version is in a range such as "^1.2" or ">=1.20-0 <2", by the rules of dependencies in Chart.yaml.
---@param version string
---@param range string
---@return boolean
function semver.satisfies(version, range) end

---Reports whether a text is a version.
---@param text string
---@return boolean
function semver.valid(text) end
