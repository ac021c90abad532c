// SPDX-License-Identifier: Apache-2.0

// Package provenance creates and verifies provenance files of chart archives: texts that contain
// the name and the SHA-256 of an archive and are signed with OpenPGP. Keyrings may be in GnuPG's
// old or new format, or exported keys. All keys in the keyring are trusted.
//
//	keys := func() (*provenance.Keyring, error) { return provenance.Load(ctx, "pubring.gpg") }
//	signature, err := provenance.VerifyFile("web-0.1.0.tgz", nil, keys) // and web-0.1.0.tgz.prov
//	...
//	fmt.Println(signature.Fingerprint, signature.Digest)
//
// [Keyring.Signer] signs. The package does not fetch archives or keys.
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
// The text before the dots is the chart's metadata, for information only: the hash covers the
// metadata in the archive.
package provenance
