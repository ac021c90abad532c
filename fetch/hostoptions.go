// SPDX-License-Identifier: Apache-2.0

package fetch

// HostOptions are the credentials and TLS options of a host. The zero value has no credentials
// and trusts the system's certificate authorities.
type HostOptions struct {
	Username, Password string
	// PassAll sends the credentials to every host, not only to the one that they were
	// given for (--pass-credentials).
	PassAll bool
	// CertFile and KeyFile are the paths of the client's certificate and key in PEM, CAFile
	// is the path of the authorities to trust instead of the system's. Each may be empty.
	CertFile, KeyFile, CAFile string
	// SkipTLS accepts any certificate.
	SkipTLS bool
	// PlainHTTP uses HTTP for OCI registries.
	PlainHTTP bool
}

// or returns a, with unset options taken from b.
func (a HostOptions) or(b HostOptions) HostOptions {
	if a.Username == "" && a.Password == "" {
		a.Username, a.Password = b.Username, b.Password
	}
	if a.CertFile == "" && a.KeyFile == "" {
		a.CertFile, a.KeyFile = b.CertFile, b.KeyFile
	}
	if a.CAFile == "" {
		a.CAFile = b.CAFile
	}
	a.PassAll = a.PassAll || b.PassAll
	a.SkipTLS = a.SkipTLS || b.SkipTLS
	a.PlainHTTP = a.PlainHTTP || b.PlainHTTP
	return a
}

// For returns the part of a that may be sent to url. a was given for the URL home, or for any
// URL if home is "". Unless a.PassAll is set, passwords and client certificates are not sent to
// another origin (CVE-2021-32690).
func (a HostOptions) For(url, home string) HostOptions {
	if home == "" || a.PassAll || SameOrigin(home, url) {
		return a
	}
	a.Username, a.Password, a.CertFile, a.KeyFile = "", "", "", ""
	return a
}
