// SPDX-License-Identifier: Apache-2.0

package provenance

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/moonhelm/moonhelm/internal/file"
)

// An UnsignedError is returned for an archive without a provenance file.
type UnsignedError struct{ Archive string }

func (e *UnsignedError) Error() string {
	return fmt.Sprintf("%s is not verified: could not load provenance file %[1]s.prov: no such file or directory",
		e.Archive)
}

// ReadForArchive reads the provenance file of an archive, which is the path of the archive with the
// suffix ".prov". If there is none, the error is an [*UnsignedError].
func ReadForArchive(archive string) ([]byte, error) {
	prov, err := ReadFile(archive + ".prov")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &UnsignedError{Archive: archive}
	case err != nil:
		return nil, fmt.Errorf("%s is not verified: could not load provenance file %[1]s.prov: %[2]w", archive, err)
	}
	return prov, nil
}

// VerifyFile verifies the archive at path with its provenance file, like [Keyring.Verify] with
// the keyring that keys returns. keys is called only if there is a provenance file. The verified
// content is also written to w, unless it is nil, so that the caller can use it even if the
// file changes; it must not be used if there is an error. If there is no provenance file, the
// error is an [*UnsignedError]. A directory cannot be verified.
func VerifyFile(path string, w io.Writer, keys func() (*Keyring, error)) (*Signature, error) {
	f, err := file.Open(path)
	if kind, ok := errors.AsType[*file.KindError](err); ok && kind.Kind.IsDir() {
		return nil, fmt.Errorf("unpacked charts cannot be verified: %s is a directory, and only archives are signed", path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	prov, err := ReadForArchive(path)
	if err != nil {
		return nil, err
	}
	k, err := keys()
	if err != nil {
		return nil, err
	}
	if w == nil {
		w = io.Discard
	}
	return k.Verify(filepath.Base(path), io.TeeReader(f, w), prov)
}
