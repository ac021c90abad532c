// SPDX-License-Identifier: Apache-2.0

package loader_test

import (
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart/loader"
)

// TestIgnore has the files that Helm 4.3.1 excludes with these .helmignore files.
func TestIgnore(t *testing.T) {
	all := []string{"!bang", "#hash", "a.txt", "b.txt", "bar/foo/y", "foo/x", "sp ace", "sub/a.txt", "sub/deep/a.txt", "sub/deep/b.md", "templates/.foo", "templates/x"}
	for _, c := range []struct{ rules, ignored string }{
		{"", "templates/.foo"},
		{"# c\n\n \n", "templates/.foo"},
		{"a.txt", "a.txt sub/a.txt sub/deep/a.txt templates/.foo"},
		{"  a.txt  \r\nb.txt\r\n", "a.txt b.txt sub/a.txt sub/deep/a.txt templates/.foo"},
		{"\xef\xbb\xbfa.txt", "a.txt sub/a.txt sub/deep/a.txt templates/.foo"},
		{"/a.txt", "a.txt templates/.foo"},
		{"sub/*.txt", "sub/a.txt templates/.foo"},
		{"*/a.txt", "sub/a.txt templates/.foo"},
		{"deep/a.txt", "templates/.foo"},
		{"./a.txt", "templates/.foo"},
		{"//a.txt", "templates/.foo"},
		{"A.TXT", "templates/.foo"},
		{"{a,b}.txt", "templates/.foo"},
		{"[ab].txt", "a.txt b.txt sub/a.txt sub/deep/a.txt templates/.foo"},
		{"?.txt", "a.txt b.txt sub/a.txt sub/deep/a.txt templates/.foo"},
		{"foo", "bar/foo/y foo/x templates/.foo"},
		{"foo/", "bar/foo/y foo/x templates/.foo"},
		{"/foo/", "foo/x templates/.foo"},
		{"bar/foo/", "bar/foo/y templates/.foo"},
		{"foo//", "templates/.foo"},
		{"a.txt/", "templates/.foo"},
		{"sub/deep", "sub/deep/a.txt sub/deep/b.md templates/.foo"},
		{"*/", "bar/foo/y foo/x sub/a.txt sub/deep/a.txt sub/deep/b.md templates/.foo templates/x"},
		{"#hash", "templates/.foo"},
		{`\#hash`, "#hash templates/.foo"},
		{`\!bang`, "!bang templates/.foo"},
		{"/", "templates/.foo"},
		{"!*", "templates/.foo"},
		{"!a.txt", strings.Join([]string{"!bang", "#hash", "b.txt", "bar/foo/y", "foo/x", "sp ace", "sub/a.txt", "sub/deep/a.txt", "sub/deep/b.md", "templates/.foo", "templates/x"}, " ")},
		{"!", strings.Join(all, " ")},
	} {
		t.Run(c.rules, func(t *testing.T) {
			rules, err := loader.ParseIgnore([]byte(c.rules))
			if err != nil {
				t.Errorf("%q: %v", c.rules, err)
				return
			}
			var got []string
			for _, name := range all {
				if leftOut(rules, name) {
					got = append(got, name)
				}
			}
			if strings.Join(got, " ") != c.ignored {
				t.Errorf("%q:\n got %v\nwant %s", c.rules, got, c.ignored)
			}
		})
	}
	for _, bad := range []string{"**/a", "sub/**", "x**y", "[a-", `\`} {
		t.Run(bad, func(t *testing.T) {
			if _, err := loader.ParseIgnore([]byte(bad)); err == nil {
				t.Errorf("%q was taken", bad)
			}
		})
	}
}

// leftOut checks the directories above a file first, like a walk.
func leftOut(rules loader.IgnoreRules, name string) bool {
	for i, r := range name {
		if r == '/' && rules.Ignored(name[:i], true) {
			return true
		}
	}
	return rules.Ignored(name, false)
}

func FuzzParseIgnore(f *testing.F) {
	f.Add([]byte("*.txt\n!a/\n/x/[a-c]\n# c\n"), "a/b.txt")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		rules, err := loader.ParseIgnore(data)
		if err != nil {
			return
		}
		_ = rules.Ignored(name, true)
		if len(data) == 0 && rules.Ignored(name, false) != strings.HasPrefix(name, "templates/.") && strings.Count(name, "/") == 1 && len(name) > len("templates/.") {
			t.Errorf("%q", name)
		}
	})
}
