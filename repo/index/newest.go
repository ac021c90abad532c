// SPDX-License-Identifier: Apache-2.0

package index

import (
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// newest returns the version that [dependency.Version] selects for "". It does not parse
// lists of simple versions, which are by far the most frequent.
func newest(list []string, devel bool) (string, error) {
	best, parts := "", [3]uint64{}
	for _, v := range list {
		release, pre, _ := strings.Cut(v, "-")
		p, ok := numbers(release)
		if !ok || pre != "" && (devel || !usualPre(pre)) {
			return dependency.Version(list, "", devel)
		}
		if pre == "" && len(release) == len(v) && (best == "" || less(parts, p)) {
			best, parts = v, p
		}
	}
	if best == "" {
		return dependency.Version(list, "", devel)
	}
	return best, nil
}

func less(a, b [3]uint64) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

// isRelease reports whether v is three integers separated by dots.
func isRelease(v string) bool {
	_, ok := numbers(v)
	return ok
}

func numbers(v string) (p [3]uint64, ok bool) {
	for i := range p {
		part, rest, more := strings.Cut(v, ".")
		if more != (i < 2) || part == "" || len(part) > 18 || part[0] == '0' && len(part) > 1 ||
			strings.Trim(part, "0123456789") != "" {
			return p, false
		}
		p[i], _ = strconv.ParseUint(part, 10, 64)
		v = rest
	}
	return p, true
}

// usualPre reports whether pre is a valid pre-release without special cases.
func usualPre(pre string) bool {
	return yaml.IsWordByte(pre[0]) && pre[0] > '9' && strings.Trim(pre, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}
