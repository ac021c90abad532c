// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script"
)

// mistake is a script with a mistake. The line at which the error is placed ends in "-- here".
type mistake struct {
	// body is that of a handler of pre-render, load is the whole chart.lua in its place.
	body, load string
	// other is the file ext/lua/other.lua.
	other string
	// event is another event that is handled.
	event string
	want  string
}

func mistakesOfLoading() map[string]mistake {
	return map[string]mistake{
		"a missing end":              {load: "if true then -- here\n  x = 1", want: "the if of line 1, or a block in it, has no end"},
		"a bracket that stays open":  {load: "print('x'\nx = 1 -- here", want: "expected ')'"},
		"!=":                         {load: "if 1 != 2 then end -- here", want: "Lua writes ~= and not"},
		"+=":                         {load: "local x = 1\nx += 1 -- here", want: "(Lua writes x = x + 1)"},
		"++":                         {load: "local x = 1\nx++ -- here", want: "(Lua writes x = x + 1)"},
		"else if":                    {load: "if a then\nelse if b then\nend\nlocal x = 1 -- here", want: "has no end"},
		"a text without its end":     {load: `x = "abc -- here`, want: ""},
		"= in a condition":           {load: "local x = 1\nif x = 1 then end -- here", want: "expected 'then'"},
		"a comment of another kind":  {load: "// the chart -- here", want: "unexpected symbol"},
		"goto without a label":       {load: "goto done -- here", want: "no visible label 'done'"},
		"break without a loop":       {load: "break -- here", want: "break"},
		"a constant that is changed": {load: "local x <const> = 1\nx = 2 -- here", want: "constant variable 'x'"},
		"an unknown event":           {load: `events.on("pre-rendr", print) -- here`, want: `did you mean "pre-render"?`},
		"an event with _":            {load: `events.on("pre_install", print) -- here`, want: `did you mean "pre-install"?`},
		"events:on":                  {load: `events:on("pre-render", print) -- here`, want: "write events.on, with a dot"},
		"events.On":                  {load: `events.On("pre-render", print) -- here`, want: "did you mean events.on?"},
		"no handler":                 {load: `events.on("pre-render") -- here`, want: "needs a name and a function"},
		"the result of the handler":  {load: "local function f() end\nevents.on('pre-render', f()) -- here", want: "needs a"},
		"a handler that is not there": {load: "events.on('pre-render', nothing) -- here\nfunction noting() end",
			want: "nothing is not defined; did you mean noting?"},
		"arguments in the wrong order": {load: `events.on(function() end, "pre-render") -- here`,
			want: "needs an event's name, not a function value"},
		"a priority of 10":            {load: `events.on("pre-render", 10, print) -- here`, want: "a number from 0 to 1"},
		"a priority at the end":       {load: `events.on("pre-render", print, 0.5) -- here`, want: "the priority is a number from 0 to 1"},
		"an unknown field of off":     {load: `events.off{chrt = "db"} -- here`, want: "events.off knows the fields chart and event"},
		"off of an unknown chart":     {load: `events.off{chart = "mysql"} -- here`, want: `has no subchart "mysql"`},
		"an unknown subchart":         {load: `subcharts.get("mysql") -- here`, want: `has no subchart "mysql"; it has db`},
		"init of unknown subcharts":   {load: `subcharts.init(events, {"mysql"}) -- here`, want: `has no subchart "mysql"`},
		"init that is not a function": {load: "init = true -- here", want: "init is a boolean; it must be a function"},
		"a file that is not there":    {load: `require("nothing") -- here`, want: "there are other"},
		"a file by its path":          {load: `require("./other.lua") -- here`, want: `did you mean "other"?`, other: "return {}"},
		"a file of another chart":     {load: `require("redis/x") -- here`, want: `no dependency or library "redis"`},
		"a mistake in another file":   {load: `require("other")`, other: "x = = 1 -- here", want: "unexpected symbol"},
		"a file that returns nothing": {load: "local other = require('other')\nother.f() -- here", other: "function f() end",
			want: `other is a boolean, so it has no "f"`},
		"files in a circle": {load: "require('other')", other: "require('chart') -- here",
			want: "scripts require each other in a circle"},
		"a function without a name":  {load: `template.func(function() end) -- here`, want: "template.func(name, function) needs both"},
		"a function that is no name": {load: `template.func("a-b", print) -- here`, want: "needs a name of letters, digits and _"},
		"a template function of text": {load: `template.func("f", "x") -- here`,
			want: "needs a function, not a string value"},
		"os without its permission":      {load: `local home = os.getenv("HOME") -- here`, want: "scripts have os where ext/permissions.yaml asks for os"},
		"io without its permission":      {load: `io.open("x") -- here`, want: "where ext/permissions.yaml asks for io"},
		"http without its permission":    {load: `http.get("https://example.com") -- here`, want: "asks for network"},
		"a coroutine":                    {load: `coroutine.wrap(print) -- here`, want: "scripts have no coroutine"},
		"load":                           {load: `load("return 1")() -- here`, want: "scripts have no load"},
		"a global with a mistake":        {load: "local replicas = 1\nprint(replcas) -- here", want: "did you mean replicas?"},
		"a global that no one assigns":   {load: "x = y -- here", want: "y is not defined: no script of the chart assigns it"},
		"true with a capital":            {load: "if True then end -- here", want: "True is not defined"},
		"null":                           {load: "x = null -- here", want: "null is not defined; did you mean helm.null?"},
		"a function of another language": {load: "local n = len('abc') -- here", want: "len is not defined"},
	}
}

func mistakesOfHandlers() map[string]mistake {
	return map[string]mistake{
		"item 0 of a list": {body: "local x = helm.list{'a'}\nprint(x[0]) -- here", want: "lists begin at 1"},
		"a loop from 0": {body: "local x = yaml.decode('[a, b]')\nfor i = 0, #x - 1 do\nprint(x[i]) -- here\nend",
			want: "lists begin at 1"},
		"item 0 of an empty list is not looked at": {body: "local x = helm.list{}\nprint(table.remove(x), x[1], #x)\n" +
			"error('done') -- here", want: "done"},
		"ctx.vales":             {body: `ctx.vales.port = 1 -- here`, want: "did you mean ctx.values?"},
		"ctx.chart.nme":         {body: `ctx.values.x = ctx.chart.nme -- here`, want: "did you mean ctx.chart.name?"},
		"ctx.release.Name":      {body: `ctx.values.x = ctx.release.Name -- here`, want: "did you mean ctx.release.name?"},
		"helm.nul":              {body: `ctx.values.x = helm.nul -- here`, want: "did you mean helm.null?"},
		"yaml.parse":            {body: `ctx.values.x = yaml.parse("a: 1") -- here`, want: "it has decode, decodeAll, encode"},
		"a value of a value":    {body: `print(ctx.values.server.port) -- here`, want: "ctx.values.server is nil"},
		"a value in no table":   {body: `ctx.values.server.port = 1 -- here`, want: `it cannot have a "port"`},
		"arithmetic":            {body: `ctx.values.x = ctx.values.replicas + 1 -- here`, want: "ctx.values.replicas is nil"},
		"a comparison":          {body: `if ctx.values.replicas > 1 then end -- here`, want: "ctx.values.replicas is nil"},
		"text against a number": {body: `if ctx.values.port > "80" then end -- here`, want: "ctx.values.port is a number, and cannot be compared with a string"},
		"joining":               {body: `ctx.values.x = "v" .. ctx.values.tag -- here`, want: "ctx.values.tag is nil"},
		"a length":              {body: `print(#ctx.values.hosts) -- here`, want: "ctx.values.hosts is nil"},
		"ipairs of nil":         {body: `for _, h in ipairs(ctx.values.hosts) do print(h) end -- here`, want: "ctx.values.hosts is nil"},
		"a loop over a table":   {body: `for k, v in ctx.values do print(k) end -- here`, want: "write pairs(ctx.values)"},
		"a call":                {body: `ctx.values.f() -- here`, want: "ctx.values.f is nil, and cannot be called"},
		"a method of text":      {body: `print(("x"):uper()) -- here`, want: "did you mean upper?"},
		"division by zero":      {body: `ctx.values.x = 1 // 0 -- here`, want: "divide by zero"},
		"the name of the chart": {body: `ctx.chart.name = "x" -- here`, want: "ctx.chart.name is read-only"},
		"the release":           {body: `ctx.release = {} -- here`, want: "ctx.release is read-only"},
		"a new field of ctx":    {body: `ctx.vales = {} -- here`, want: "did you mean ctx.values?"},
		"values as text":        {body: `ctx.values = "x" -- here`, want: "ctx.values is a table; it cannot become a string value"},
		"values as nil":         {body: `ctx.values = nil -- here`, want: "ctx.values is a table; it cannot become a nil value"},
		"values as a list":      {body: `ctx.values = {1, 2} -- here`, want: "ctx.values is a map, and cannot become a list"},
		"objects too early": {event: "chart-loaded", body: `ctx.objects[1] = {} -- here`,
			want: "ctx.objects[1] is read-only at chart-loaded"},
		"templates too late": {event: "post-render", body: `ctx.templates[1] = {} -- here`,
			want: "ctx.templates[1] is read-only at post-render"},
		"values too late": {event: "post-install", body: `ctx.values.x = 1 -- here`,
			want: "ctx.values.x is read-only at post-install"},
		"table.insert too late": {event: "post-install", body: `table.insert(ctx.objects, {}) -- here`,
			want: "ctx.objects is read-only at post-install"},
		"lint elsewhere": {body: `ctx.lint.warn("x", "y") -- here`, want: `ctx.lint is nil, so it has no "warn"; pre-render has none`},
		"no chart":       {event: "pre-delete", body: `print(ctx.chart.name) -- here`, want: `ctx.chart is nil, so it has no "name"; pre-delete has none`},
		"a finding without a text": {event: "pre-lint", body: `ctx.lint.warn("text") -- here`,
			want: "ctx.lint.warn(path, text) needs both"},
		"a function as a value":      {body: `ctx.values.f = print -- here`, want: "is a function, which is not data"},
		"a hole":                     {body: `ctx.values.l = {1, nil, 3} -- here`, want: "item 2 is missing"},
		"mixed keys":                 {body: `ctx.values.l = {1, a = 2} -- here`, want: "numbered items and named keys"},
		"NaN":                        {body: `ctx.values.n = 0/0 -- here`, want: "finite numbers only"},
		"a cycle":                    {body: "local t = {}\nt.t = t\nctx.values.t = t -- here", want: "holds itself"},
		"an item 0":                  {body: `ctx.values.l = helm.list{} ctx.values.l[0] = 1 -- here`, want: "the first is 1"},
		"an object without kind":     {body: `table.insert(ctx.objects, {apiVersion = "v1"}) -- here`, want: "an object needs kind"},
		"an object as text":          {body: `table.insert(ctx.objects, "kind: X") -- here`, want: "must be a map"},
		"an object of several":       {body: `table.insert(ctx.objects, {{apiVersion = "v1", kind = "X"}}) -- here`, want: "must be a map"},
		"a kind as a number":         {body: `ctx.objects[1].kind = 5 -- here`, want: "an object needs kind, as text"},
		"a template elsewhere":       {body: `table.insert(ctx.templates, {name = "../x.yaml", data = ""}) -- here`, want: "must be a path inside the chart"},
		"a template without data":    {body: `table.insert(ctx.templates, {name = "x.yaml"}) -- here`, want: "must be a map with name and data"},
		"a template that is there":   {body: `table.insert(ctx.templates, {name = "templates/a.yaml", data = ""}) -- here`, want: `two with the name "templates/a.yaml"`},
		"a file with another field":  {body: `print(ctx.files[1].content) -- here`, want: "it has data, name"},
		"the data as a table":        {body: `ctx.files[1].data = {} -- here`, want: "must be a map with name and data, both text"},
		"values.yaml as a file":      {body: `table.insert(ctx.files, {name = "values.yaml", data = ""}) -- here`, want: "values.yaml cannot be changed as a file"},
		"a lookup without a kind":    {body: `kube.lookup("v1") -- here`, want: "needs an apiVersion and a kind"},
		"a lookup with a table":      {body: `kube.lookup("v1", "Pod", {}) -- here`, want: "namespace is text"},
		"fail without a message":     {body: `helm.fail() -- here`, want: "bad argument #1 to 'helm.fail' (text expected, got nothing)"},
		"fail":                       {body: `helm.fail("give a port") -- here`, want: "give a port"},
		"an error":                   {body: `error("no") -- here`, want: "no"},
		"an error without a message": {body: `error() -- here`, want: "error called without a message"},
		"an error as a table":        {body: `error({code = 1}) -- here`, want: "(the error is a table value)"},
		"an assertion":               {body: `assert(ctx.values.port == 1) -- here`, want: "assertion failed!"},
		"YAML with a mistake":        {body: `yaml.decode("a: b: c") -- here`, want: "yaml.decode: "},
		"JSON with a mistake":        {body: `json.decode("{'a': 1}") -- here`, want: "json.decode: "},
		"YAML of nothing":            {body: `yaml.decode(ctx.values.text) -- here`, want: "text expected, got nothing"},
		"YAML of a function":         {body: `yaml.encode({f = print}) -- here`, want: "is a function, which is not data"},
		"a pattern with a mistake":   {body: `regex.match("(", "x") -- here`, want: "regex.match"},
		"a version with a mistake":   {body: `semver.compare("one", "1.0") -- here`, want: "semver.compare"},
		"base64 with a mistake":      {body: `base64.decode("%%") -- here`, want: "base64.decode"},
		"a list of text":             {body: `helm.list("x") -- here`, want: "table expected, got string"},
		"a list that is a map":       {body: `helm.list(ctx.values) -- here`, want: "the table is a map already"},
		"a format":                   {body: `print(("%d"):format("x")) -- here`, want: "invalid value for integer format"},
		"a format without a value":   {body: `print(string.format("%s")) -- here`, want: "format"},
		"no API version":             {body: `ctx.capabilities.has() -- here`, want: "bad argument #1"},
		"a call of values":           {body: `ctx.values().x = 1 -- here`, want: "ctx.values is a table, and cannot be called"},
		"an endless loop":            {body: "while true do end -- here", want: "the scripts ran longer than they may"},
		"endless calls":              {body: "local function f() return 1 + f() end -- here\nf()", want: "the limit is"},
		"a metatable of text":        {body: `setmetatable("", {}) -- here`, want: "table expected, got string"},
	}
}

// Each mistake ends in an error that names the file and the line, and says what is wrong.
func TestMistakes(t *testing.T) {
	all := mistakesOfLoading()
	for name, m := range mistakesOfHandlers() {
		m.load = fmt.Sprintf("events.on(%q, function(ctx)\n%s\nend)", cmpOr(m.event, "pre-render"), m.body)
		all[name] = m
	}
	t.Logf("%d mistakes", len(all))
	for name, m := range all {
		t.Run(name, func(t *testing.T) {
			err := runMistake(t, m)
			wrong, ok := errors.AsType[*script.Error](err)
			if !ok {
				t.Fatalf("got %v, want an error of the script", err)
			}
			file, line := "ext/lua/chart.lua", lineOf(m.load)
			if line == 0 {
				file, line = "ext/lua/other.lua", lineOf(m.other)
			}
			if wrong.File != file || wrong.Line != line && wrong.Limit == "" {
				t.Errorf("got %s:%d, want %s:%d: %s", wrong.File, wrong.Line, file, line, wrong.Message)
			}
			if !strings.Contains(wrong.Message, m.want) {
				t.Errorf("got %q, want %q", wrong.Message, m.want)
			}
		})
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// lineOf returns the number of the line with the mark.
func lineOf(text string) int {
	for i, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "-- here") {
			return i + 1
		}
	}
	return 0
}

// runMistake runs a script and returns its error.
func runMistake(t *testing.T, m mistake) error {
	t.Helper()
	files := map[string]string{chart.FileScript: m.load, "ext/lua/other.lua": cmpOr(m.other, "return {}"), "app.conf": "x"}
	db := newChart("db", map[string]string{chart.FileScript: "x = 1"})
	c := newChart("web", files, db)
	c.Templates = []*chart.File{{Name: "templates/a.yaml", Data: []byte("a: 1")}}
	h := luaHost()
	h.Limits.CPU = time.Second
	bus, err := load(t, h, c)
	if err != nil {
		return err
	}
	payload := event.Payload{Chart: c, Values: vals(t, "port: 80\nimage: {tag: x}\n"), Objects: objects(t, someObjects)}
	switch m.event {
	case "chart-loaded":
		return bus.Emit(t.Context(), &event.ChartLoaded{Payload: payload})
	case "post-render":
		return bus.Emit(t.Context(), &event.PostRender{Payload: payload})
	case "post-install":
		return bus.Emit(t.Context(), &event.PostInstall{Payload: payload})
	case "pre-lint":
		return bus.Emit(t.Context(), &event.PreLint{Payload: payload})
	case "pre-delete":
		payload.Chart = nil
		return bus.Emit(t.Context(), &event.PreDelete{Payload: payload})
	}
	return bus.Emit(t.Context(), &event.PreRender{Payload: payload})
}
