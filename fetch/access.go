// SPDX-License-Identifier: Apache-2.0

package fetch

// Access says who we are to a host, and how its certificate is checked. The zero
// value is nobody, with the system's certificates.
type Access struct {
	Username, Password string
	// PassAll has the credentials sent to every host that the content leads to,
	// not only to the one that they were given for (--pass-credentials).
	PassAll bool
	// CertFile and KeyFile are the client's certificate and key in PEM, CAFile
	// the authorities to trust instead of the system's.
	CertFile, KeyFile, CAFile string
	// SkipTLS accepts any certificate.
	SkipTLS bool
	// PlainHTTP speaks HTTP to registries.
	PlainHTTP bool
}

// over is a, with b for what a does not say.
func (a Access) over(b Access) Access {
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

// For is what of a may be shown to url, where a was given for the URL home, ""
// for any: to another place, nothing that says who we are (CVE-2021-32690).
func (a Access) For(url, home string) Access {
	if home == "" || a.PassAll || SameOrigin(home, url) {
		return a
	}
	a.Username, a.Password, a.CertFile, a.KeyFile = "", "", "", ""
	return a
}
