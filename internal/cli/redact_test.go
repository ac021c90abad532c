// SPDX-License-Identifier: Apache-2.0

package cli

import "testing"

func TestRedactPasswords(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "nothing": "nothing", "a://": "a://", "a:/": "a:/", "://:@": "://:xxxxx@",
		"http://anna:hunter2@host:80/x: no":                  "http://anna:xxxxx@host:80/x: no",
		`chart "https://:p@ss@h" (for /tmp/https:/a:p@h/x)`:  `chart "https://:xxxxx@h" (for /tmp/https:/a:xxxxx@h/x)`,
		"ssh://git@host:22/x, http://h:80, user@example.com": "ssh://git@host:22/x, http://h:80, user@example.com",
		"oci://h:5000/web@sha256:abc":                        "oci://h:5000/web@sha256:abc",
		"http://h: write to ann@example.com":                 "http://h: write to ann@example.com",
		"\x1b[31mError:\x1b[0m git+ssh://a:p%40s@h":          "\x1b[31mError:\x1b[0m git+ssh://a:xxxxx@h",
	} {
		if got := redactPasswords(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
