// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart/unittest"
)

// rule is what a schema says about an element.
type rule struct {
	// required and optional are its attributes, with the pattern of their values.
	required, optional map[string]string
	// children are the names of its children in order, with ?, *, + and | as in regular expressions.
	children string
	// text is set if the element has text.
	text bool
}

const (
	anyText  = `(?s).*`
	token    = `(?s).+`
	number   = `-?[0-9]+`
	decimal  = `-?[0-9]+(\.[0-9]+)?`
	truth    = `true|false`
	dateTime = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d`
)

func attrs(list ...string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(list); i += 2 {
		for name := range strings.FieldsSeq(list[i]) {
			out[name] = list[i+1]
		}
	}
	return out
}

// schemas are the published ones, by the path of each element.
//
// JUnit: https://github.com/windyroad/JUnit-Schema/blob/master/JUnit.xsd, that of Ant. NUnit: the schema of
// 2.5's results. XUnit: https://xunit.net/docs/format-xml-v2. Sonar: "Generic test execution report
// format" of https://docs.sonarsource.com.
func schemas() map[Format]map[string]rule {
	cause := rule{optional: attrs("message", anyText), required: attrs("type", anyText), text: true}
	message := rule{text: true}
	nunitSuite := rule{required: attrs("type name", anyText, "executed", truth, "result", "Success|Failed|Skipped"),
		optional: attrs("description asserts", anyText, "success", truth, "time", decimal), children: "results?"}
	xunitCounts := attrs("name", anyText, "time", decimal, "total passed failed skipped", number)
	xunitAssembly := attrs("config-file environment test-framework", anyText, "run-date", `\d{4}-\d\d-\d\d`,
		"run-time", `\d\d:\d\d:\d\d`, "errors", number)
	sonarCause := rule{required: attrs("message", anyText), text: true}
	return map[Format]map[string]rule{
		JUnit: {
			"testsuites": {children: "testsuite*"},
			"testsuites/testsuite": {required: attrs("package", anyText, "id tests failures errors", number,
				"name hostname", token, "timestamp", dateTime, "time", decimal), optional: attrs("skipped", number),
				children: "properties testcase* system-out system-err"},
			"testsuites/testsuite/properties":          {children: "property*"},
			"testsuites/testsuite/properties/property": {required: attrs("name", token, "value", anyText)},
			"testsuites/testsuite/testcase": {required: attrs("name classname", anyText, "time", decimal),
				children: "(skipped|error|failure)?"},
			"testsuites/testsuite/testcase/skipped": {optional: attrs("message", anyText), text: true},
			"testsuites/testsuite/testcase/error":   cause,
			"testsuites/testsuite/testcase/failure": cause,
			"testsuites/testsuite/system-out":       message,
			"testsuites/testsuite/system-err":       message,
		},
		NUnit: {
			"test-results": {required: attrs("name date time", token,
				"total errors failures inconclusive not-run ignored skipped invalid", number),
				children: "environment culture-info test-suite"},
			"test-results/environment": {required: attrs(
				"nunit-version clr-version os-version platform cwd machine-name user user-domain", anyText)},
			"test-results/culture-info":                          {required: attrs("current-culture current-uiculture", token)},
			"test-results/test-suite":                            nunitSuite,
			"test-results/test-suite/results":                    {children: "test-suite*"},
			"test-results/test-suite/results/test-suite":         nunitSuite,
			"test-results/test-suite/results/test-suite/results": {children: "test-case*"},
			"test-results/test-suite/results/test-suite/results/test-case": {
				required: attrs("name", anyText, "executed", truth, "result", "Success|Failed|Skipped"),
				optional: attrs("description asserts", anyText, "success", truth, "time", decimal),
				children: "(failure|reason)?"},
			"test-results/test-suite/results/test-suite/results/test-case/failure":             {children: "message stack-trace"},
			"test-results/test-suite/results/test-suite/results/test-case/failure/message":     message,
			"test-results/test-suite/results/test-suite/results/test-case/failure/stack-trace": message,
			"test-results/test-suite/results/test-suite/results/test-case/reason":              {children: "message"},
			"test-results/test-suite/results/test-suite/results/test-case/reason/message":      message,
		},
		XUnit: {
			"assemblies":                     {children: "assembly*"},
			"assemblies/assembly":            {required: xunitCounts, optional: xunitAssembly, children: "errors? collection*"},
			"assemblies/assembly/errors":     {},
			"assemblies/assembly/collection": {required: xunitCounts, children: "test*"},
			"assemblies/assembly/collection/test": {
				required: attrs("name type method", anyText, "time", decimal, "result", "Pass|Fail|Skip"),
				children: "traits? (failure|reason)?"},
			"assemblies/assembly/collection/test/traits": {},
			"assemblies/assembly/collection/test/failure": {optional: attrs("exception-type", token),
				children: "message stack-trace"},
			"assemblies/assembly/collection/test/failure/message":     message,
			"assemblies/assembly/collection/test/failure/stack-trace": message,
			"assemblies/assembly/collection/test/reason":              message,
		},
		Sonar: {
			"testExecutions":      {required: attrs("version", "1"), children: "file*"},
			"testExecutions/file": {required: attrs("path", token), children: "testCase*"},
			"testExecutions/file/testCase": {required: attrs("name", anyText, "duration", `[0-9]+`),
				children: "(failure|error|skipped)?"},
			"testExecutions/file/testCase/failure": sonarCause,
			"testExecutions/file/testCase/error":   sonarCause,
			"testExecutions/file/testCase/skipped": sonarCause,
		},
	}
}

// node is an element of a document.
type node struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []node     `xml:",any"`
}

// violations returns what is wrong with n, whose path is given, and what is below it.
func (n *node) violations(rules map[string]rule, path string) (out []string) {
	r, ok := rules[path]
	if !ok {
		return []string{path + ": is not in the schema"}
	}
	wrong := func(format string, args ...any) { out = append(out, path+": "+fmt.Sprintf(format, args...)) }
	missing := attrs()
	for name := range r.required {
		missing[name] = ""
	}
	for _, a := range n.Attrs {
		pattern, ok := r.required[a.Name.Local]
		if !ok {
			if pattern, ok = r.optional[a.Name.Local]; !ok {
				wrong("attribute %s is not in the schema", a.Name.Local)
			}
		}
		if !regexp.MustCompile(`^(` + pattern + `)$`).MatchString(a.Value) {
			wrong("%s=%q, want %s", a.Name.Local, a.Value, pattern)
		}
		delete(missing, a.Name.Local)
	}
	for name := range missing {
		wrong("attribute %s is missing", name)
	}
	if !r.text && strings.TrimSpace(n.Text) != "" {
		wrong("has text")
	}
	names := make([]string, len(n.Children))
	for i := range n.Children {
		names[i] = n.Children[i].XMLName.Local
		out = append(out, n.Children[i].violations(rules, path+"/"+names[i])...)
	}
	if got := strings.Join(append(names, ""), ","); !regexp.MustCompile(`^` + childPattern(r.children) + `$`).MatchString(got) {
		wrong("has the children %v, want %s", names, r.children)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// childPattern returns a regular expression for names, each with a comma after it.
func childPattern(children string) string {
	var out strings.Builder
	for part := range strings.FieldsSeq(children) {
		out.WriteString(regexp.MustCompile(`[a-zA-Z-]+`).ReplaceAllString(part, "(?:$0,)"))
	}
	return out.String()
}

// TestSchemas holds results with a test of each status against the schemas of the formats.
func TestSchemas(t *testing.T) {
	env := Environment{Time: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), Host: "ci", User: "me", Directory: "/src",
		GoPlatform: "go1.26.linux.amd64"}
	for format, rules := range schemas() {
		t.Run(string(format), func(t *testing.T) {
			for name, charts := range map[string][]*unittest.ChartResult{
				"all": {sample()}, "none": nil, "no host": {sample()},
			} {
				env := env
				if name == "no host" {
					env.Host, env.User = "", ""
				}
				var b strings.Builder
				if err := format.Write(&b, charts, env); err != nil {
					t.Fatal(err)
				}
				var root node
				if err := xml.Unmarshal([]byte(b.String()), &root); err != nil {
					t.Fatal(err)
				}
				for _, v := range root.violations(rules, root.XMLName.Local) {
					t.Errorf("%s: %s", name, v)
				}
			}
		})
	}
}

// TestViolations checks that TestSchemas can fail.
func TestViolations(t *testing.T) {
	for text, want := range map[string]string{
		`<testExecutions version="1"><file path=""/></testExecutions>`:                            `path="", want`,
		`<testExecutions version="1"><file path="a"><testCase name="a"/></file></testExecutions>`: "duration is missing",
		`<testExecutions version="1" name="x"/>`:                                                  "name is not in the schema",
		`<testExecutions version="1">x</testExecutions>`:                                          "has text",
		`<testExecutions version="1"><suite/></testExecutions>`:                                   "has the children [suite]",
		`<testExecutions version="2"/>`:                                                           `version="2", want 1`,
		`<testExecutions version="1"><file path="a"><file path="a"/></file></testExecutions>`:     "file/file: is not in",
		`<results version="1"/>`:                                                                  "results: is not in the schema",
	} {
		var root node
		if err := xml.Unmarshal([]byte(text), &root); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(root.violations(schemas()[Sonar], root.XMLName.Local), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
