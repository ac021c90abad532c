// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/xml"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart/unittest"
	"github.com/moonhelm/moonhelm/internal/term"
)

// sample has a test of each status.
func sample() *unittest.ChartResult {
	failure := unittest.Failure{Title: "asserts[0] `equal` fail", Lines: []string{"Path:\ta", "Diff:", "\t-x", "\t+\x1b[31my"},
		At: unittest.Place{File: "tests/a_test.yaml", Line: 7}, Template: unittest.Place{File: "web/templates/a.yaml", Line: 3}}
	return &unittest.ChartResult{Name: "web", Path: "./web", Suites: []*unittest.SuiteResult{
		{Name: "a <&>", File: "tests/a_test.yaml", Duration: time.Second, Snapshots: unittest.Snapshots{Total: 3, Failed: 1},
			Tests: []unittest.TestResult{
				{Name: "passes", Status: unittest.Passed},
				{Name: "fails", Status: unittest.Failed, Failures: []unittest.Failure{failure}},
				{Name: "breaks", Status: unittest.Errored, Err: errors.New("no such file\nor directory")},
				{Name: "waits", Status: unittest.Skipped, Reason: "not ready"},
			}},
		{File: "tests/b_test.yaml", Err: errors.New("no tests found")},
		{Name: "later", File: "tests/c_test.yaml", Tests: []unittest.TestResult{{Name: "x", Status: unittest.Skipped}}},
	}}
}

func TestText(t *testing.T) {
	var b strings.Builder
	p := NewText(&b, term.Style{})
	if err := p.Chart(sample()); err != nil {
		t.Fatal(err)
	}
	if err := p.Chart(&unittest.ChartResult{Path: "nope", Err: errors.New("no chart")}); err != nil {
		t.Fatal(err)
	}
	if err := p.Summary(1500 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	want := "\n### Chart [ web ] ./web\n\n" +
		" FAIL  a <&>\ttests/a_test.yaml\n" +
		"\t- fails\n\n\t\t- asserts[0] `equal` fail\n\t\t\tTest:\ttests/a_test.yaml:7\n\t\t\tSource:\tweb/templates/a.yaml:3\n" +
		"\t\t\tPath:\ta\n\t\t\tDiff:\n\t\t\t\t-x\n\t\t\t\t+\\x1b[31my\n\n" +
		"\t- breaks\n\t\tError: no such file\n\t\tor directory\n\n\t- SKIPPED 'waits'\n" +
		" FAIL  \ttests/b_test.yaml\n\t- Execution Error: \n\t\tno tests found\n\n" +
		" SKIP  later\ttests/c_test.yaml\n\t- SKIPPED 'x'\n" +
		"\n### Error:  no chart\n" +
		"\nSnapshot Summary: 1 snapshot failed in 1 test suite. Check changes and use `-u` to update snapshot.\n" +
		"\nCharts:      2 failed, 2 errored, 0 passed, 2 total\nTest Suites: 2 failed, 1 errored, 0 passed, 1 skipped, 3 total\n" +
		"Tests:       2 failed, 1 errored, 1 passed, 2 skipped, 5 total\nSnapshot:    1 failed, 2 passed, 3 total\nTime:        1.5s\n\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestFormats(t *testing.T) {
	tests := []struct {
		format Format
		want   []string
	}{
		{JUnit, []string{
			`<testsuite id="0" tests="4" failures="1" errors="1" skipped="1" package="" time="1.000" name="a &lt;&amp;&gt;"`,
			`<failure message="Failed" type="">- asserts[0]`, `<error message="Error" type="">no such file`,
			`<skipped message="SKIPPED &#39;waits&#39;: not ready">`, `<testcase classname="tests/b_test.yaml" name="the suite can be read"`}},
		{NUnit, []string{`total="6" errors="2" failures="1"`, `skipped="2"`, `result="Success"`, `result="Skipped"`,
			`executed="false" asserts="0" result="Failed"`}},
		{XUnit, []string{`total="4" passed="1" failed="1" skipped="1" errors="1"`, `result="Skip"`,
			`exception-type="Helm-Validation-Error"`, `<![CDATA[- asserts[0]`}},
		{Sonar, []string{`<file path="tests/a_test.yaml">`, `<failure message="Failed"><![CDATA[- asserts[0]`,
			`<skipped message="Skipped">`, `<error message="Error">`}},
	}
	for _, tt := range tests {
		t.Run(string(tt.format), func(t *testing.T) {
			var b strings.Builder
			if err := tt.format.Write(&b, []*unittest.ChartResult{sample()}, Environment{}); err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(b.String(), want) {
					t.Errorf("no %s in\n%s", want, &b)
				}
			}
			var root struct{ XMLName xml.Name }
			if err := xml.Unmarshal([]byte(b.String()), &root); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestParseFormat(t *testing.T) {
	if got, err := ParseFormat("junit"); err != nil || got != JUnit {
		t.Errorf("got %q, %v", got, err)
	}
	var bad *FormatError
	if _, err := ParseFormat("tap"); !errors.As(err, &bad) || bad.Name != "tap" {
		t.Errorf("got %v, want a FormatError", err)
	}
	if err := Format("tap").Write(&strings.Builder{}, nil, Environment{}); !errors.As(err, &bad) {
		t.Errorf("Write: %v, want a FormatError", err)
	}
}
