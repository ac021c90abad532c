// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"unicode"
)

// Entry is a repository with its settings.
type Entry struct {
	Name, URL          string
	Username, Password string
	// PassAll sends user name and password also to other hosts that the repository
	// refers to.
	PassAll bool
	// CertFile and KeyFile are the paths of the client's certificate and key in PEM, CAFile
	// is the path of the authorities to trust.
	CertFile, KeyFile, CAFile string
	// SkipTLS accepts any certificate.
	SkipTLS bool

	// rest are unknown keys, which are preserved.
	rest map[string]json.RawMessage
}

// Same reports whether two entries have the same settings.
func (e Entry) Same(other Entry) bool {
	a, b := e.fields(), other.fields()
	return a == b
}

// RedactedURL returns the URL for messages: without a password, and with "..." instead of a query, which
// may contain a token.
func (e Entry) RedactedURL() string { return redactURL(e.URL) }

func redactURL(address string) string {
	if u, err := url.Parse(address); err == nil {
		if u.RawQuery != "" {
			u.RawQuery = "..." // may contain a token
		}
		return u.Redacted()
	}
	if _, _, found := strings.Cut(address, "@"); found {
		return "(a malformed URL)" // may contain a password in an unexpected place
	}
	return address
}

// IndexURL returns the URL of the repository's index.
func (e Entry) IndexURL() (string, error) {
	u, err := url.Parse(e.URL)
	if err != nil || u.Scheme == "" {
		return "", &URLError{Name: e.Name, URL: e.RedactedURL(), Problem: notURL}
	}
	u.Fragment, u.RawFragment = "", ""
	return u.JoinPath("index.yaml").String(), nil
}

// CheckName returns a [*NameError] if a repository name is invalid. The name is part of chart
// references ("repository/chart") and of file names in the cache.
func CheckName(name string) error {
	switch {
	case name == "":
		return &NameError{Name: name, Problem: "is empty"}
	case strings.Contains(name, "/"):
		return &NameError{Name: name, Problem: "contains '/', please specify a different name without '/'"}
	case strings.Contains(name, `\`):
		return &NameError{Name: name, Problem: `contains '\', please specify a different name without '\'`}
	case strings.Trim(name, ".") == "":
		return &NameError{Name: name,
			Problem: fmt.Sprintf("is a directory in %s/chart, please specify a different name", name)}
	case strings.ContainsFunc(name, unicode.IsControl):
		return &NameError{Name: name, Problem: "contains control characters, please specify a different name"}
	}
	return nil
}

// check validates an entry to add.
func (e Entry) check() error {
	if err := CheckName(e.Name); err != nil {
		return err
	}
	if i := strings.TrimRight(e.URL, "/"); expired[i] != "" {
		return &ExpiredError{URL: e.URL, Try: expired[i]}
	}
	u, err := url.Parse(e.URL)
	switch {
	case err != nil || u.Scheme == "":
		return &URLError{Name: e.Name, URL: e.RedactedURL(), Problem: notURL}
	case strings.EqualFold(u.Scheme, "oci"):
		return &RegistryError{URL: e.RedactedURL()}
	}
	return nil
}

const notURL = "could not find protocol handler for: it is not a URL such as https://charts.example.com"

// expired maps the URLs of Helm's first repositories, which no longer exist, to those of
// their archives.
var expired = map[string]string{
	"https://kubernetes-charts.storage.googleapis.com":           "https://charts.helm.sh/stable",
	"https://kubernetes-charts-incubator.storage.googleapis.com": "https://charts.helm.sh/incubator",
}

// fields are the keys of an entry in the file. All are always written.
type fields struct {
	CAFile   string `json:"caFile"`
	CertFile string `json:"certFile"`
	SkipTLS  bool   `json:"insecure_skip_tls_verify"`
	KeyFile  string `json:"keyFile"`
	Name     string `json:"name"`
	PassAll  bool   `json:"pass_credentials_all"`
	Password string `json:"password"`
	URL      string `json:"url"`
	Username string `json:"username"`
}

func (e Entry) fields() fields {
	return fields{
		CAFile: e.CAFile, CertFile: e.CertFile, SkipTLS: e.SkipTLS, KeyFile: e.KeyFile,
		Name: e.Name, PassAll: e.PassAll, Password: e.Password, URL: e.URL, Username: e.Username,
	}
}

func (f fields) entry(rest map[string]json.RawMessage) Entry {
	return Entry{
		CAFile: f.CAFile, CertFile: f.CertFile, SkipTLS: f.SkipTLS, KeyFile: f.KeyFile,
		Name: f.Name, PassAll: f.PassAll, Password: f.Password, URL: f.URL, Username: f.Username,
		rest: rest,
	}
}

// cacheMode returns the mode of the repository's files in the cache. They are world-readable,
// as with Helm, unless the repository requires credentials: then its index may be private.
func (e Entry) cacheMode() fs.FileMode {
	if e.Username != "" || e.Password != "" || e.CertFile != "" || e.KeyFile != "" {
		return 0o600
	}
	if u, err := url.Parse(e.URL); err != nil || u.User != nil || u.RawQuery != "" {
		return 0o600
	}
	return 0o644
}
