// SPDX-License-Identifier: Apache-2.0

package show

import (
	"bytes"
	"testing"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/term"
)

const definition = "apiVersion: v2\nname: s\ntype: library\nversion: 1.0.0\n"

// TestOutputMatchesHelm compares with the output of Helm 4.3.1 for the same charts. There is no
// note about library charts: standard error is not a terminal.
func TestOutputMatchesHelm(t *testing.T) {
	lists := definition + "libraries:\n- name: common\n  repository: \"\"\n  version: ^1.0.0\n"
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  map[string]string
	}{
		{
			"a chart with everything",
			map[string]string{"Chart.yaml": definition, "values.yaml": "a: 1\n", "README.md": "# hi", "crds/x.yaml": "kind: X"},
			map[string]string{
				"chart": definition + "\n", "values": "a: 1\n\n", "readme": "# hi\n", "crds": "---\nkind: X\n",
				"all": definition + "\n---\na: 1\n\n---\n# hi\n---\nkind: X\n",
			},
		},
		{
			"a chart with nothing",
			map[string]string{"Chart.yaml": definition},
			map[string]string{"chart": definition + "\n", "values": "", "readme": "", "crds": "", "all": definition + "\n"},
		},
		{
			"files with nothing in them",
			map[string]string{"Chart.yaml": definition, "values.yaml": "", "README.md": ""},
			map[string]string{"values": "\n", "readme": "\n", "all": definition + "\n---\n\n---\n\n"},
		},
		{
			"libraries are listed, which Helm does not know; what is in library/ is not part of the chart itself",
			map[string]string{"Chart.yaml": lists, "library/common/Chart.yaml": "apiVersion: v2\nname: common\nversion: 1.0.0\n",
				"library/common/crds/x.yaml": "kind: X", "library/common/README.md": "# common", "library/common/values.yaml": "b: 2"},
			map[string]string{"chart": "apiVersion: v2\nlibraries:\n- name: common\n  repository: \"\"\n  version: ^1.0.0\nname: s\ntype: library\nversion: 1.0.0\n\n",
				"values": "", "readme": "", "crds": ""},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			filetest.Write(t, dir, tc.files)
			for part, want := range tc.want {
				var out, errs bytes.Buffer
				cmd := New(cmdutil.New(term.Streams{Out: &out, Err: &errs}))
				cmd.SetArgs([]string{part, dir})
				if err := cmd.Execute(); err != nil || out.String() != want || errs.Len() > 0 {
					t.Errorf("%s: got %q, %q, %v, want %q", part, &out, &errs, err, want)
				}
			}
		})
	}
}
