// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/xml"
	"time"

	"github.com/moonhelm/moonhelm/chart/unittest"
)

// framework is the name of the tool in formats that have one.
const framework = "helm-unittest"

type (
	nunitResults struct {
		XMLName      xml.Name `xml:"test-results"`
		Name         string   `xml:"name,attr"`
		Total        int      `xml:"total,attr"`
		Errors       int      `xml:"errors,attr"`
		Failures     int      `xml:"failures,attr"`
		Inconclusive int      `xml:"inconclusive,attr"`
		NotRun       int      `xml:"not-run,attr"`
		Ignored      int      `xml:"ignored,attr"`
		Skipped      int      `xml:"skipped,attr"`
		Invalid      int      `xml:"invalid,attr"`
		Date         string   `xml:"date,attr,omitempty"`
		Time         string   `xml:"time,attr,omitempty"`
		Environment  nunitEnvironment
		Culture      nunitCulture
		Project      nunitProject
	}
	// nunitProject has the suites: the schema allows one test-suite at the root.
	nunitProject struct {
		XMLName  xml.Name     `xml:"test-suite"`
		Type     string       `xml:"type,attr"`
		Name     string       `xml:"name,attr"`
		Success  bool         `xml:"success,attr"`
		Time     string       `xml:"time,attr"`
		Executed bool         `xml:"executed,attr"`
		Result   string       `xml:"result,attr"`
		Suites   []nunitSuite `xml:"results>test-suite"`
	}
	nunitEnvironment struct {
		XMLName  xml.Name `xml:"environment"`
		NUnit    string   `xml:"nunit-version,attr"`
		CLR      string   `xml:"clr-version,attr"`
		OS       string   `xml:"os-version,attr"`
		Platform string   `xml:"platform,attr"`
		CWD      string   `xml:"cwd,attr"`
		Machine  string   `xml:"machine-name,attr"`
		User     string   `xml:"user,attr"`
		Domain   string   `xml:"user-domain,attr"`
	}
	nunitCulture struct {
		XMLName xml.Name `xml:"culture-info"`
		Culture string   `xml:"current-culture,attr"`
		UI      string   `xml:"current-uiculture,attr"`
	}
	nunitSuite struct {
		Type        string      `xml:"type,attr"`
		Name        string      `xml:"name,attr"`
		Description string      `xml:"description,attr"`
		Success     bool        `xml:"success,attr"`
		Time        string      `xml:"time,attr"`
		Executed    bool        `xml:"executed,attr"`
		Asserts     string      `xml:"asserts,attr"`
		Result      string      `xml:"result,attr"`
		Cases       []nunitCase `xml:"results>test-case"`
	}
	nunitCase struct {
		Name        string        `xml:"name,attr"`
		Description string        `xml:"description,attr"`
		Success     bool          `xml:"success,attr"`
		Time        string        `xml:"time,attr"`
		Executed    bool          `xml:"executed,attr"`
		Asserts     int           `xml:"asserts,attr"`
		Result      string        `xml:"result,attr"`
		Failure     *nunitFailure `xml:"failure"`
		Reason      *nunitReason  `xml:"reason"`
	}
	nunitFailure struct {
		Message string `xml:"message"`
		Trace   string `xml:"stack-trace"`
	}
	nunitReason struct {
		Message string `xml:"message"`
	}
)

func newNUnit(suites []*unittest.SuiteResult, env Environment) nunitResults {
	out := nunitResults{Name: framework,
		Environment: nunitEnvironment{NUnit: "2.5.8.0", CLR: "unknown", OS: "unknown", Platform: env.GoPlatform,
			CWD: env.Directory, Machine: env.Host, User: env.User},
		Culture: nunitCulture{Culture: "C", UI: "C"}}
	if !env.Time.IsZero() {
		out.Date, out.Time = env.Time.Format("2006-01-02"), env.Time.Format("15:04:05")
	}
	all := &unittest.ChartResult{Suites: suites}
	out.Project = nunitProject{Type: "Test Project", Name: framework, Success: all.Status().OK(), Executed: true,
		Result: nunitResult(all.Status())}
	var took time.Duration
	for _, s := range suites {
		c := countTests(s)
		took += s.Duration
		out.Total += c.Total()
		out.Errors += c.Errored
		out.Failures += c.Failed - c.Errored
		out.Skipped += c.Skipped
		ns := nunitSuite{Type: "TestFixture", Name: s.Name, Description: s.File, Success: s.Status().OK(),
			Time: seconds(s.Duration), Executed: s.Status() != unittest.Skipped, Result: nunitResult(s.Status())}
		for _, t := range cases(s) {
			nc := nunitCase{Name: t.Name, Description: s.Name + "." + t.Name, Success: t.Status == unittest.Passed,
				Time: seconds(t.Duration), Executed: t.Status == unittest.Passed || t.Status == unittest.Failed,
				Result: nunitResult(t.Status)}
			switch t.Status {
			case unittest.Failed, unittest.Errored:
				nc.Failure = &nunitFailure{"Failed", body(&t)}
			case unittest.Skipped:
				nc.Reason = &nunitReason{skippedText(&t)}
			}
			ns.Cases = append(ns.Cases, nc)
		}
		out.Project.Suites = append(out.Project.Suites, ns)
	}
	out.Project.Time = seconds(took)
	return out
}

func nunitResult(s unittest.Status) string {
	switch s {
	case unittest.Passed:
		return "Success"
	case unittest.Skipped:
		return "Skipped"
	}
	return "Failed"
}

type (
	xunitAssemblies struct {
		XMLName    xml.Name        `xml:"assemblies"`
		Assemblies []xunitAssembly `xml:"assembly"`
	}
	xunitAssembly struct {
		Name        string          `xml:"name,attr"`
		Config      string          `xml:"config-file,attr"`
		Framework   string          `xml:"test-framework,attr"`
		Date        string          `xml:"run-date,attr,omitempty"`
		At          string          `xml:"run-time,attr,omitempty"`
		Time        string          `xml:"time,attr"`
		Total       int             `xml:"total,attr"`
		Passed      int             `xml:"passed,attr"`
		Failed      int             `xml:"failed,attr"`
		Skipped     int             `xml:"skipped,attr"`
		Errors      int             `xml:"errors,attr"`
		Environment string          `xml:"environment,attr"`
		ErrorList   string          `xml:"errors"`
		Collection  xunitCollection `xml:"collection"`
	}
	xunitCollection struct {
		Name    string      `xml:"name,attr"`
		Time    string      `xml:"time,attr"`
		Total   int         `xml:"total,attr"`
		Passed  int         `xml:"passed,attr"`
		Failed  int         `xml:"failed,attr"`
		Skipped int         `xml:"skipped,attr"`
		Tests   []xunitTest `xml:"test"`
	}
	xunitTest struct {
		Name    string        `xml:"name,attr"`
		Type    string        `xml:"type,attr"`
		Method  string        `xml:"method,attr"`
		Time    string        `xml:"time,attr"`
		Result  string        `xml:"result,attr"`
		Traits  string        `xml:"traits"`
		Failure *xunitFailure `xml:"failure"`
		Reason  *cdata        `xml:"reason"`
	}
	xunitFailure struct {
		Type    string `xml:"exception-type,attr"`
		Message cdata  `xml:"message"`
		Trace   cdata  `xml:"stack-trace"`
	}
	cdata struct {
		Text string `xml:",cdata"`
	}
)

func newXUnit(suites []*unittest.SuiteResult, env Environment) xunitAssemblies {
	var out xunitAssemblies
	for _, s := range suites {
		c := countTests(s)
		a := xunitAssembly{Name: s.File, Config: s.File, Framework: framework, Time: seconds(s.Duration),
			Total: c.Total(), Passed: c.Passed, Failed: c.Failed - c.Errored, Skipped: c.Skipped, Errors: c.Errored,
			Environment: env.GoPlatform}
		if !env.Time.IsZero() {
			a.Date, a.At = env.Time.Format("2006-01-02"), env.Time.Format("15:04:05")
		}
		a.Collection = xunitCollection{Name: s.Name, Time: a.Time, Total: a.Total, Passed: a.Passed, Failed: a.Failed,
			Skipped: a.Skipped}
		for _, t := range cases(s) {
			a.Collection.Tests = append(a.Collection.Tests, newXUnitTest(s, &t))
		}
		out.Assemblies = append(out.Assemblies, a)
	}
	return out
}

func newXUnitTest(s *unittest.SuiteResult, t *unittest.TestResult) xunitTest {
	out := xunitTest{Name: t.Name, Type: s.Name, Method: "Helm-Validation", Time: seconds(t.Duration), Result: "Pass"}
	switch t.Status {
	case unittest.Failed, unittest.Errored:
		out.Result = "Fail"
		out.Failure = &xunitFailure{Type: out.Method, Message: cdata{"Failed"}, Trace: cdata{body(t)}}
		if t.Status == unittest.Errored {
			out.Failure.Type += "-Error"
		}
	case unittest.Skipped:
		out.Result, out.Reason = "Skip", &cdata{skippedText(t)}
	}
	return out
}
