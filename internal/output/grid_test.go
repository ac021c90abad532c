// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/moonhelm/moonhelm/internal/term"
)

func TestGridPipe(t *testing.T) {
	styled := func(row, column int, cell string) string {
		if row == -1 || column == 1 {
			return fmt.Sprintf("\x1b[%dm%s\x1b[0m", 31+row, cell)
		}
		return cell
	}
	for _, test := range []struct {
		name string
		grid Grid
		want string
	}{
		{"padded cells", Grid{Header: []string{"NAME", "STATUS"},
			Rows: [][]string{{"a", "deployed"}, {"längs", "\x1b[31mred"}, {"two\tin\none", ""}}},
			"NAME      \tSTATUS     \n" +
				"a         \tdeployed   \n" +
				"längs     \t\\x1b[31mred\n" +
				"two in one\t           \n"},
		{"styles have no width", Grid{Header: []string{"NAME", "STATUS"},
			Rows: [][]string{{"a", "deployed"}, {"web", "\x1b"}}, Style: styled},
			"\x1b[30mNAME\x1b[0m\t\x1b[30mSTATUS\x1b[0m  \n" +
				"a   \t\x1b[31mdeployed\x1b[0m\n" +
				"web \t\x1b[32m\\x1b\x1b[0m    \n"},
		{"spare columns are there", Grid{Header: []string{"A", "B"}, Rows: [][]string{{strings.Repeat("a", 90), "b"}},
			Spare: []int{1}}, "A" + strings.Repeat(" ", 89) + "\tB\n" + strings.Repeat("a", 90) + "\tb\n"},
		{"a header only", Grid{Header: []string{"A", "B"}}, "A\tB\n"},
		{"nothing", Grid{}, ""},
		{"no header", Grid{Rows: [][]string{{"a"}}}, "a\n"},
		{"uneven rows", Grid{Header: []string{"A"}, Rows: [][]string{{"a", "more"}, {}}}, "A\na\tmore\n\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := test.grid.Write(term.Streams{Out: &b}); err != nil || b.String() != test.want {
				t.Errorf("%v, got\n%q\nwant\n%q", err, b.String(), test.want)
			}
		})
	}
	if err := (Grid{Header: []string{"A"}}).Write(term.Streams{Out: broken{fmt.Errorf("full")}}); err == nil {
		t.Error("a full disk: no error")
	}
}

func TestGridFit(t *testing.T) {
	releases := Grid{
		Header: []string{"NAME", "NAMESPACE", "REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION"},
		Rows: [][]string{
			{"customer-facing-application-1", "production", "12", "5d ago", "deployed", "customer-facing-application-1.2.3", "1.2.3"},
			{"web", "default", "1", "3m ago", "failed", "web-0.1.0", ""},
		},
		Spare: []int{6, 3, 2, 1},
	}
	text := Grid{Header: []string{"A", "B"}, Rows: [][]string{{"猫猫猫", "\x1b[2J" + strings.Repeat("x", 30)}, {"", "b"}}}
	for _, test := range []struct {
		name    string
		grid    Grid
		columns int
		want    string
	}{
		{"wide", releases, 200,
			"NAME                           NAMESPACE   REVISION  UPDATED  STATUS    CHART                              APP VERSION\n" +
				"customer-facing-application-1  production  12        5d ago   deployed  customer-facing-application-1.2.3  1.2.3\n" +
				"web                            default     1         3m ago   failed    web-0.1.0\n"},
		{"shortened", releases, 100,
			"NAME                      NAMESPACE   REVISION  UPDATED  STATUS    CHART                 APP VERSION\n" +
				"customer-facing…cation-1  production  12        5d ago   deployed  customer-facing-app…  1.2.3\n" +
				"web                       default     1         3m ago   failed    web-0.1.0\n"},
		{"without spare columns", releases, 60,
			"NAME                      NAMESPACE   STATUS    CHART\n" +
				"customer-facing…cation-1  production  deployed  customer-fa…\n" +
				"web                       default     failed    web-0.1.0\n"},
		{"tiny", releases, 30,
			"NAME             STAT…  CHART\n" +
				"customer-…ion-1  depl…  cust…\n" +
				"web              fail…  web-…\n"},
		{"wide characters and controls", text, 20,
			"A       B\n" +
				"猫猫猫  \\x1b[2Jxxxx…\n" +
				"        b\n"},
		{"continued cells", Grid{Header: []string{"A", "B"}, Rows: [][]string{{"x", "one two three four five six seven"}, {"y", "short"}},
			Below: func(row int) string { return "|" }}, 13,
			"A  B\nx  one two\n|  three four\n|  five six …\ny  short\n"},
		{"one column", Grid{Header: []string{"A"}, Rows: [][]string{{"abcdef"}}}, 3, "A\na…f\n"},
		{"nothing", Grid{}, 80, ""},
		{"an empty row", Grid{Rows: [][]string{{}, {"a"}}}, 80, "\na\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := test.grid.Fit(test.columns)
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			for line := range strings.Lines(got) {
				line = strings.TrimSuffix(line, "\n")
				if w := displaywidth.String(line); w > test.columns || strings.TrimRight(line, " ") != line {
					t.Errorf("%q has %d columns, want at most %d without trailing blanks", line, w, test.columns)
				}
			}
		})
	}
}

func TestAgo(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.Local)
	for _, test := range []struct {
		name string
		at   time.Time
		want string
	}{
		{"never", time.Time{}, "-"},
		{"now", now, "just now"},
		{"a moment", now.Add(-1500 * time.Millisecond), "1s ago"},
		{"minutes", now.Add(-5 * time.Minute), "5m ago"},
		{"days", now.Add(-50 * time.Hour), "2d ago"},
		{"another clock", now.Add(time.Hour), "2026-05-04 13:00:00"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Ago(test.at, now); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestOnScreen(t *testing.T) {
	if OnScreen(term.Streams{Out: &bytes.Buffer{}}) {
		t.Error("a pipe is not a screen")
	}
}
