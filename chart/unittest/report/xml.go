// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart/unittest"
)

// Format is a format of result files.
type Format string

// The formats, whose names are compared without their case.
const (
	JUnit Format = "JUnit"
	NUnit Format = "NUnit"
	XUnit Format = "XUnit"
	Sonar Format = "Sonar"
)

// Formats returns the names of all formats.
func Formats() []string { return []string{string(JUnit), string(NUnit), string(XUnit), string(Sonar)} }

// A FormatError is returned for an unknown format.
type FormatError struct{ Name string }

func (e *FormatError) Error() string { return fmt.Sprintf("unknown output type %q", e.Name) }

// Hint lists the formats.
func (e *FormatError) Hint() string { return "use " + strings.Join(Formats(), ", ") }

// ParseFormat returns the format with a name. The error is a [*FormatError].
func ParseFormat(name string) (Format, error) {
	for _, f := range Formats() {
		if strings.EqualFold(f, name) {
			return Format(f), nil
		}
	}
	return "", &FormatError{name}
}

// Environment is what some formats say about the run. The zero value leaves it out.
type Environment struct {
	Time                              time.Time
	Host, User, Directory, GoPlatform string
	// Tool is what has made the results, a property of each suite in JUnit; "" is helm-unittest, whose
	// format has a property for its version.
	Tool string
}

// Write writes the results of charts in a format.
func (f Format) Write(w io.Writer, charts []*unittest.ChartResult, env Environment) error {
	var suites []*unittest.SuiteResult
	for _, c := range charts {
		suites = append(suites, c.Suites...)
	}
	var doc any
	switch f {
	case JUnit:
		doc = newJUnit(suites, env)
	case NUnit:
		doc = newNUnit(suites, env)
	case XUnit:
		doc = newXUnit(suites, env)
	case Sonar:
		doc = newSonar(suites)
	default:
		return &FormatError{string(f)}
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "\t")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func countTests(s *unittest.SuiteResult) (c Counts) {
	for i := range s.Tests {
		c.add(s.Tests[i].Status)
	}
	if s.Err != nil && len(s.Tests) == 0 {
		c.add(unittest.Errored)
	}
	return c
}

// cases returns the tests of a suite. One that could not be read has a test that says so.
func cases(s *unittest.SuiteResult) []unittest.TestResult {
	if s.Err != nil && len(s.Tests) == 0 {
		return []unittest.TestResult{{Name: "the suite can be read", Status: unittest.Errored, Err: s.Err}}
	}
	return s.Tests
}

// body describes the failures of a test on several lines.
func body(t *unittest.TestResult) string {
	var b strings.Builder
	for i := range t.Failures {
		f := &t.Failures[i]
		fmt.Fprintf(&b, "- %s\n", f.Title)
		for _, l := range describe(f) {
			fmt.Fprintf(&b, "\t%s\n", l)
		}
	}
	if t.Err != nil {
		b.WriteString(t.Err.Error())
		b.WriteByte('\n')
	}
	return valid(b.String())
}

// valid returns text without the characters that XML cannot have, even escaped.
func valid(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r >= ' ' && r != 0xFFFE && r != 0xFFFF:
			return r
		}
		return '\uFFFD'
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

func skippedText(t *unittest.TestResult) string {
	if t.Reason != "" {
		return valid(fmt.Sprintf("SKIPPED '%s': %s", t.Name, t.Reason))
	}
	return valid(fmt.Sprintf("SKIPPED '%s'", t.Name))
}

type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		ID        int             `xml:"id,attr"`
		Tests     int             `xml:"tests,attr"`
		Failures  int             `xml:"failures,attr"`
		Errors    int             `xml:"errors,attr"`
		Skipped   int             `xml:"skipped,attr"`
		Package   string          `xml:"package,attr"`
		Time      string          `xml:"time,attr"`
		Name      string          `xml:"name,attr"`
		Timestamp string          `xml:"timestamp,attr,omitempty"`
		Host      string          `xml:"hostname,attr"`
		Props     []junitProperty `xml:"properties>property"`
		Cases     []junitCase     `xml:"testcase"`
		// Scripts and templates print nothing that belongs to a suite, but the schema requires these.
		Out string `xml:"system-out"`
		Err string `xml:"system-err"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitMessage `xml:"failure"`
		Error   *junitMessage `xml:"error"`
		Skipped *junitSkipped `xml:"skipped"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
)

// junitVersion is the version of the format that helm-unittest writes.
const junitVersion = "1.6"

func newJUnit(suites []*unittest.SuiteResult, env Environment) junitSuites {
	var out junitSuites
	property := junitProperty{"helm-unittest.version", junitVersion}
	if env.Tool != "" {
		property = junitProperty{"tool", env.Tool}
	}
	for i, s := range suites {
		c := countTests(s)
		js := junitSuite{ID: i, Tests: c.Total(), Failures: c.Failed - c.Errored, Errors: c.Errored, Skipped: c.Skipped,
			Time: seconds(s.Duration), Name: cmp.Or(s.Name, s.File), Host: cmp.Or(env.Host, "localhost"),
			Props: []junitProperty{property}}
		if !env.Time.IsZero() {
			js.Timestamp = env.Time.Format("2006-01-02T15:04:05")
		}
		for _, t := range cases(s) {
			jc := junitCase{Class: js.Name, Name: t.Name, Time: seconds(t.Duration)}
			switch t.Status {
			case unittest.Failed:
				jc.Failure = &junitMessage{Message: "Failed", Text: body(&t)}
			case unittest.Errored:
				jc.Error = &junitMessage{Message: "Error", Text: body(&t)}
			case unittest.Skipped:
				jc.Skipped = &junitSkipped{skippedText(&t)}
			}
			js.Cases = append(js.Cases, jc)
		}
		out.Suites = append(out.Suites, js)
	}
	return out
}

type (
	sonarFiles struct {
		XMLName xml.Name    `xml:"testExecutions"`
		Version string      `xml:"version,attr"`
		Files   []sonarFile `xml:"file"`
	}
	sonarFile struct {
		Path  string      `xml:"path,attr"`
		Cases []sonarCase `xml:"testCase"`
	}
	sonarCase struct {
		Name     string    `xml:"name,attr"`
		Duration int64     `xml:"duration,attr"`
		Failure  *xmlCause `xml:"failure"`
		Error    *xmlCause `xml:"error"`
		Skipped  *xmlCause `xml:"skipped"`
	}
	xmlCause struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",cdata"`
	}
)

func newSonar(suites []*unittest.SuiteResult) sonarFiles {
	out := sonarFiles{Version: "1"}
	for _, s := range suites {
		f := sonarFile{Path: s.File}
		for _, t := range cases(s) {
			c := sonarCase{Name: t.Name, Duration: t.Duration.Milliseconds()}
			switch t.Status {
			case unittest.Failed:
				c.Failure = &xmlCause{"Failed", body(&t)}
			case unittest.Errored:
				c.Error = &xmlCause{"Error", body(&t)}
			case unittest.Skipped:
				c.Skipped = &xmlCause{"Skipped", skippedText(&t)}
			}
			f.Cases = append(f.Cases, c)
		}
		out.Files = append(out.Files, f)
	}
	return out
}
