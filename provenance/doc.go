// SPDX-License-Identifier: Apache-2.0

// Package provenance makes and checks the provenance of charts' archives: a text, signed
// with OpenPGP, that names the archive and its SHA-256. In goes a keyring (GnuPG's,
// old and new, or exported keys) and an archive; out comes the text, or who signed
// it. Whether a key is to be trusted is the user's to say, by what is in the keyring.
//
// A provenance file is one clear-signed message and nothing else:
//
//	-----BEGIN PGP SIGNED MESSAGE-----
//	Hash: SHA512
//
//	name: web
//	version: 0.1.0
//
//	...
//	files:
//	  web-0.1.0.tgz: sha256:d78a8b2a…
//
//	-----BEGIN PGP SIGNATURE-----
//
// The text before the dots is the chart's metadata. It is for readers: what counts
// is in the archive, for which the hash stands.
package provenance
