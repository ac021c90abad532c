// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"regexp"
	"strings"
	"testing"
)

func TestGlobManyStars(t *testing.T) {
	names := []string{"a/b/c.yaml", "a/b.yml", "x-1_y.txt", "é/a"}
	for pattern, want := range map[string]string{
		"a/*/*.*": "a/b/c.yaml", "**.yml": "a/b.yml", "{a,x}*[!a]*": "a/b.yml x-1_y.txt", "[a-z]-?_y.t*": "x-1_y.txt", "é/?": "é/a", `x\-1*`: "x-1_y.txt",
	} {
		t.Run(pattern, func(t *testing.T) {
			re := regexp.MustCompile(globRegexp(pattern))
			var got []string
			for _, n := range names {
				if re.MatchString(n) {
					got = append(got, n)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: got %q, want %s", pattern, got, want)
			}
		})
	}
}
