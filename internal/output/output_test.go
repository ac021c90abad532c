// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestTablesKeepTheirTabs(t *testing.T) {
	var b bytes.Buffer
	err := Rows(&b, []string{"NAME", "STATUS"}, [][]string{{"a", "deployed"}, {"längs", "\x1b[31mred"}, {"two\tin\none", ""}})
	want := "NAME      \tSTATUS     \n" +
		"a         \tdeployed   \n" +
		"längs     \t\\x1b[31mred\n" +
		"two in one\t           \n"
	if err != nil || b.String() != want {
		t.Errorf("%v, got\n%q\nwanted\n%q", err, b.String(), want)
	}
	for i, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		if strings.Count(line, "\t") != 1 {
			t.Errorf("line %d has not two columns for cut: %q", i, line)
		}
	}
}

func TestColoursTakeNoRoom(t *testing.T) {
	var b bytes.Buffer
	style := func(row, column int, cell string) string {
		if row == -1 || column == 1 {
			return fmt.Sprintf("\x1b[%dm%s\x1b[0m", 31+row, cell)
		}
		return cell
	}
	err := StyledRows(&b, []string{"NAME", "STATUS"}, [][]string{{"a", "deployed"}, {"web", "\x1b"}}, style)
	want := "\x1b[30mNAME\x1b[0m\t\x1b[30mSTATUS\x1b[0m  \n" +
		"a   \t\x1b[31mdeployed\x1b[0m\n" +
		"web \t\x1b[32m\\x1b\x1b[0m    \n"
	if err != nil || b.String() != want {
		t.Errorf("%v, got\n%q\nwanted\n%q", err, b.String(), want)
	}
}

func TestTablesOfOddShape(t *testing.T) {
	for _, test := range []struct {
		header []string
		rows   [][]string
		want   string
	}{
		{[]string{"A", "B"}, nil, "A\tB\n"},
		{nil, nil, ""},
		{nil, [][]string{{"a"}}, "a\n"},
		{[]string{"A"}, [][]string{{"a", "more"}, {}}, "A\na\tmore\n\n"},
	} {
		var b bytes.Buffer
		if err := Rows(&b, test.header, test.rows); err != nil || b.String() != test.want {
			t.Errorf("%v %v: got %q, %v", test.header, test.rows, b.String(), err)
		}
	}
}

func TestFormats(t *testing.T) {
	type row struct {
		Name string `json:"name"`
	}
	table := func(w io.Writer) error { _, err := io.WriteString(w, "a table\n"); return err }
	for _, test := range []struct {
		format Format
		value  any
		want   string
	}{
		{"", nil, "a table\n"},
		{Table, nil, "a table\n"},
		{JSON, []row{{"a"}}, `[{"name":"a"}]` + "\n"},
		{JSON, []row{}, "[]\n"},
		{YAML, []row{{"a"}}, "- name: a\n"},
		{YAML, []row{}, "[]\n"},
	} {
		var b bytes.Buffer
		if err := test.format.Write(&b, test.value, table); err != nil || b.String() != test.want {
			t.Errorf("%q: got %q, %v", test.format, b.String(), err)
		}
	}
	for _, f := range []Format{JSON, YAML} {
		if err := f.Write(io.Discard, func() {}, table); err == nil || !strings.HasPrefix(err.Error(), "write ") {
			t.Errorf("%s of a function: %v", f, err)
		}
	}
	full := errors.New("disk full")
	for _, f := range []Format{JSON, YAML} {
		if err := f.Write(broken{full}, 1, table); !errors.Is(err, full) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestTheFlag(t *testing.T) {
	for arg, want := range map[string]Format{"-o=json": JSON, "-oyaml": YAML, "--output=table": Table} {
		var f Format
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.Bind(fs)
		if err := fs.Parse([]string{arg}); err != nil || f != want || f.String() != string(want) {
			t.Errorf("%s: %s, %v", arg, f, err)
		}
	}
	var f Format
	if f.String() != "table" || f.Set("xml") == nil || f.Type() == "" {
		t.Error("xml was taken")
	}
	cmd := &cobra.Command{Use: "x"}
	f.Bind(cmd.Flags())
	Complete(cmd)
	if fn, ok := cmd.GetFlagCompletionFunc("output"); !ok {
		t.Error("no completion")
	} else if got, _ := fn(cmd, nil, ""); len(got) != 3 {
		t.Error(got)
	}
}
