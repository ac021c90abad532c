// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"strings"
	"testing"
)

const someDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestParseRef(t *testing.T) {
	for _, test := range []struct {
		text string
		want Ref
	}{
		{"oci://example.com/charts/web:1.2.3", Ref{Host: "example.com", Path: "charts/web", Tag: "1.2.3"}},
		{"example.com:5000/web", Ref{Host: "example.com:5000", Path: "web"}},
		{"oci://example.com", Ref{Host: "example.com"}},
		{"oci://example.com:443/", Ref{Host: "example.com:443"}},
		{"oci://[::1]:5000/web", Ref{Host: "[::1]:5000", Path: "web"}},
		{"oci://h/charts/", Ref{Host: "h", Path: "charts"}},
		{"oci://h/my.chart_x__y--z/a:v1", Ref{Host: "h", Path: "my.chart_x__y--z/a", Tag: "v1"}},
		{"oci://h/web:1.2.3+build.5", Ref{Host: "h", Path: "web", Tag: "1.2.3_build.5"}},
		{"oci://h/web@" + someDigest, Ref{Host: "h", Path: "web", Digest: someDigest}},
		{"oci://h/web:1.0.0@" + someDigest, Ref{Host: "h", Path: "web", Tag: "1.0.0", Digest: someDigest}},
	} {
		t.Run(test.text, func(t *testing.T) {
			got, err := ParseRef(test.text)
			if err != nil || got != test.want {
				t.Errorf("%s: %+v, %v", test.text, got, err)
			}
		})
	}
}

func TestParseRefErrors(t *testing.T) {
	for text, want := range map[string]string{
		"oci://":           "is not a host",
		"oci:///web":       "is not a host",
		"oci://a b/web":    "is not a host",
		"oci://h:port/web": "is not a host",
		"oci://h/Web":      "must be in lower case",
		"oci://h/we..b":    "is not a valid name",
		"oci://h/../web":   "is not a valid name",
		"oci://h/a//b":     "is not a valid name",
		"oci://h/-web":     "is not a valid name",
		"oci://h/w%65b":    "is not a valid name",
		"oci://h/web:":     "the tag is empty",
		"oci://h/web:1 2":  "is not a valid tag",
		"oci://h/web:.1":   "is not a valid tag",
		"oci://h/web:" + strings.Repeat("1", 129): "is not a valid tag",
		"oci://h/web@":          "is not a valid digest",
		"oci://h/web@sha256:00": "is not a valid digest",
		"oci://h/web@md5:00":    "is not a valid digest",
		"oci://h/:1":            "no name",
		"http://h/web":          "want oci://",
		"s3://ann:x@h/web":      "want oci://",
	} {
		t.Run(text, func(t *testing.T) {
			if _, err := ParseRef(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
		})
	}
}

func TestParseRefHidesPassword(t *testing.T) {
	_, err := ParseRef("oci://ann:hunter2@example.com/web")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

// A regular expression would be compiled at every start of helm.
func TestIsPath(t *testing.T) {
	for text, want := range map[string]bool{
		"a": true, "a/b/c": true, "a.b": true, "a_b": true, "a__b": true, "a---b": true, "0": true,
		"": false, "a_": false, "_a": false, "a___b": false, "a._b": false, "a.-b": false, "a/": false, "/a": false, "A": false, "ä": false, "a-_b": false,
	} {
		t.Run(text, func(t *testing.T) {
			if isPath(text) != want {
				t.Errorf("%q: %v", text, !want)
			}
		})
	}
}

func FuzzParseRef(f *testing.F) {
	for _, s := range []string{"oci://h/web:1", "h:1/a/b@" + someDigest, "oci://[::1]/x:1_2", "://", "h/@:@"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := ParseRef(text)
		if err != nil {
			return
		}
		again, err := ParseRef(ref.String())
		if err != nil || again != ref {
			t.Fatalf("%q is %+v, which is %+v, %v", text, ref, again, err)
		}
		if strings.ContainsAny(ref.Path, "\\\x00% ") || strings.Contains("/"+ref.Path+"/", "/../") {
			t.Fatalf("%q has the path %q", text, ref.Path)
		}
	})
}
