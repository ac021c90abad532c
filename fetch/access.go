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
	// the authorities to trust besides the system's.
	CertFile, KeyFile, CAFile string
	// SkipTLS accepts any certificate.
	SkipTLS bool
	// PlainHTTP speaks HTTP to registries.
	PlainHTTP bool
}
