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

// Entry is a repository as it was added.
type Entry struct {
	Name, URL          string
	Username, Password string
	// PassAll has user name and password sent to other hosts too, where the
	// repository leads there.
	PassAll bool
	// CertFile and KeyFile are the client's certificate and key in PEM, CAFile
	// the authorities to trust.
	CertFile, KeyFile, CAFile string
	// SkipTLS accepts any certificate.
	SkipTLS bool

	// rest are keys of the file that we do not know, and keep.
	rest map[string]json.RawMessage
}

// Same reports whether two entries have the same settings.
func (e Entry) Same(other Entry) bool {
	a, b := e.fields(), other.fields()
	return a == b
}

// Shown is the repository's URL as it may be told: without a password.
func (e Entry) Shown() string { return shown(e.URL) }

func shown(address string) string {
	if u, err := url.Parse(address); err == nil {
		if u.RawQuery != "" {
			u.RawQuery = "..." // a token may be in it
		}
		return u.Redacted()
	}
	if _, _, found := strings.Cut(address, "@"); found {
		return "(a malformed URL)" // a password may be in it, and no one knows where
	}
	return address
}

// IndexURL is where the repository's index is.
func (e Entry) IndexURL() (string, error) {
	u, err := url.Parse(e.URL)
	if err != nil || u.Scheme == "" {
		return "", &URLError{Name: e.Name, URL: e.Shown(), Problem: notURL}
	}
	u.Fragment, u.RawFragment = "", ""
	return u.JoinPath("index.yaml").String(), nil
}

// CheckName returns a [*NameError] for a name that a repository cannot have. Charts are
// named "repository/chart", and files of the cache begin with the name.
func CheckName(name string) error {
	switch {
	case name == "":
		return &NameError{Name: name, Problem: "is empty"}
	case strings.Contains(name, "/"):
		return &NameError{Name: name, Problem: "contains '/', please specify a different name without '/'"}
	case strings.Contains(name, `\`):
		return &NameError{Name: name, Problem: `contains '\', please specify a different name without '\'`}
	case strings.Trim(name, ".") == "":
		return &NameError{Name: name, Problem: fmt.Sprintf("cannot be told from a directory where it stands in %s/chart, "+
			"please specify a different name", name)}
	case strings.ContainsFunc(name, unicode.IsControl):
		return &NameError{Name: name, Problem: "contains control characters, please specify a different name"}
	}
	return nil
}

// check tells what is wrong with an entry that is to be added.
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
		return &URLError{Name: e.Name, URL: e.Shown(), Problem: notURL}
	case strings.EqualFold(u.Scheme, "oci"):
		return &RegistryError{URL: e.Shown()}
	}
	return nil
}

const notURL = "could not find protocol handler for: it is not a URL such as https://charts.example.com"

// expired are Helm's first own repositories, which are gone for good, and where
// their charts are.
var expired = map[string]string{
	"https://kubernetes-charts.storage.googleapis.com":           "https://charts.helm.sh/stable",
	"https://kubernetes-charts-incubator.storage.googleapis.com": "https://charts.helm.sh/incubator",
}

// fields are an entry as the file has it. All are always written.
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

// cacheMode is the mode of what is cached of the repository. Everyone may read it, as
// with Helm, unless its server wants to know who asks: then its index may be as private
// as the credentials are.
func (e Entry) cacheMode() fs.FileMode {
	if e.Username != "" || e.Password != "" || e.CertFile != "" || e.KeyFile != "" {
		return 0o600
	}
	if u, err := url.Parse(e.URL); err != nil || u.User != nil || u.RawQuery != "" {
		return 0o600
	}
	return 0o644
}
