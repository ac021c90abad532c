// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"fmt"
	"io"
	"strings"

	"github.com/moonhelm/moonhelm/chart/unittest"
	"github.com/moonhelm/moonhelm/chart/unittest/report"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/plan"
)

// writeJUnit prints a suite for each release, with a test for each object.
func writeJUnit(w io.Writer, reports []Report, o Options) error {
	all := &unittest.ChartResult{Name: "drift"}
	text := &textWriter{o: o}
	for _, r := range reports {
		suite := &unittest.SuiteResult{Name: r.Namespace + "/" + r.Name, Err: r.Err}
		for _, object := range r.Objects {
			suite.Tests = append(suite.Tests, text.test(r, object))
		}
		all.Suites = append(all.Suites, suite)
	}
	return report.JUnit.Write(w, []*unittest.ChartResult{all}, report.Environment{Time: o.Now, Tool: "helm drift"})
}

// test returns the result for an object.
func (w *textWriter) test(r Report, o plan.ObjectDrift) unittest.TestResult {
	t := unittest.TestResult{Name: kube.ObjectName(o.Kind, o.Namespace, o.Name), Status: unittest.Passed}
	if !r.open() || !o.Drifted() {
		return t
	}
	t.Status = unittest.Failed
	failure := unittest.Failure{Title: "drifted from revision " + fmt.Sprint(r.Revision)}
	switch {
	case o.Missing:
		failure.Lines = append(failure.Lines, "missing the object does not exist")
	case o.Deleted != "":
		failure.Lines = append(failure.Lines, "changed the object is being deleted since "+o.Deleted)
	}
	for _, f := range o.Drift() {
		failure.Lines = append(failure.Lines, fmt.Sprintf("%-8s%s%s%s", f.Kind, f.Path, w.values(f), w.by(f.Manager)))
	}
	t.Failures = []unittest.Failure{failure}
	return t
}

// metrics returns the drift in Prometheus' text format. A release without drift has zeros, so that
// an alert ends.
func metrics(reports []Report, o Options) string {
	var b strings.Builder
	family := func(name, help string) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
	}
	family("helm_release_drifted", "Whether objects of the release differ from what was installed.")
	for _, r := range reports {
		if r.Err == nil {
			fmt.Fprintf(&b, "helm_release_drifted%s %d\n", releaseLabels(r), number(r.open()))
		}
	}
	family("helm_release_drift_error", "Whether the release could not be checked for drift.")
	for _, r := range reports {
		fmt.Fprintf(&b, "helm_release_drift_error%s %d\n", releaseLabels(r), number(r.Err != nil))
	}
	family("helm_release_drifted_fields", "Fields of an object that differ, 1 for an object that is missing.")
	for _, r := range reports {
		if !r.open() {
			continue
		}
		for _, object := range r.Objects {
			writeFields(&b, r, object)
		}
	}
	family("helm_drift_check_timestamp_seconds", "When the releases were checked.")
	fmt.Fprintf(&b, "helm_drift_check_timestamp_seconds %d\n", o.Now.Unix())
	return b.String()
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}

// writeFields writes the number of differing fields of an object, by kind of drift.
func writeFields(b *strings.Builder, r Report, o plan.ObjectDrift) {
	count := map[plan.DriftKind]int{}
	if o.Missing && o.Allowed == "" {
		count[plan.DriftMissing]++
	}
	for _, f := range o.Drift() {
		count[f.Kind]++
	}
	for _, kind := range []plan.DriftKind{plan.DriftChanged, plan.DriftMissing, plan.DriftAdded} {
		if count[kind] > 0 {
			fmt.Fprintf(b, "helm_release_drifted_fields{namespace=%s,release=%s,kind=%s,object_namespace=%s,object=%s,"+
				"change=%s} %d\n",
				label(r.Namespace), label(r.Name), label(o.Kind), label(o.Namespace), label(o.Name), label(string(kind)),
				count[kind])
		}
	}
}

func releaseLabels(r Report) string {
	return fmt.Sprintf("{namespace=%s,release=%s}", label(r.Namespace), label(r.Name))
}

// label returns the value of a label, quoted as the format asks.
func label(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value) + `"`
}
