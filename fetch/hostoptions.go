// SPDX-License-Identifier: Apache-2.0

package fetch

// HostOptions are the credentials for a host, and how its certificate is checked. The zero value
// has no credentials and trusts the system's authorities.
type HostOptions struct {
	Username, Password string
	// PassAll has the credentials sent to every host, not only to the one that they were
	// given for (--pass-credentials).
	PassAll bool
	// CertFile and KeyFile are paths of the client's certificate and key in PEM, CAFile
	// that of the authorities to trust instead of the system's; "" for none.
	CertFile, KeyFile, CAFile string
	// SkipTLS accepts any certificate.
	SkipTLS bool
	// PlainHTTP has registries spoken to by HTTP.
	PlainHTTP bool
}

// over is a, with b for what a does not say.
func (a HostOptions) over(b HostOptions) HostOptions {
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

// For returns the part of a that may be sent to url, where a was given for the URL home,
// "" for any: to another origin neither password nor client certificate is sent, unless
// a.PassAll (CVE-2021-32690).
func (a HostOptions) For(url, home string) HostOptions {
	if home == "" || a.PassAll || SameOrigin(home, url) {
		return a
	}
	a.Username, a.Password, a.CertFile, a.KeyFile = "", "", "", ""
	return a
}
