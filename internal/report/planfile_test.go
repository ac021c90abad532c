// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/planfile"
)

// TestPlanTextEscapes colours a plan in a terminal, and escapes what the plan says.
func TestPlanTextEscapes(t *testing.T) {
	doc := &planfile.Document{Operation: planfile.Upgrade,
		Release: planfile.Release{Name: "web\x1b[2J", Namespace: "ns", Revision: 2},
		Objects: []planfile.Object{{Ref: plan.Ref{Kind: "ConfigMap", Name: "a\nb"}, Action: plan.Update,
			Changes: []planfile.Change{{Path: "data.a\n+ forged", From: "1", To: "2"}}}}}
	got := PlanText(doc, term.Streams{Color: "always"}.Style(nil))
	for _, want := range []string{
		"\x1b[1mPlan to upgrade web\\x1b[2J in namespace ns: revision 2\x1b[0m\n",
		"\nupdate \x1b[1mConfigMap/a b\x1b[0m\n",
		"\n  \x1b[31m- data.a + forged: \"1\"\x1b[0m\n",
		"\n  \x1b[32m+ data.a + forged: \"2\"\x1b[0m\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	if got := PlanMarkdown(doc); strings.Contains(got, "\x1b") {
		t.Errorf("got a control character: %q", got)
	}
}
