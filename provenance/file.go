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

// Beside reads the provenance file of the archive at path, which is next to it under
// the archive's name and ".prov". Where there is none the error is a [*UnsignedError].
func Beside(archive string) ([]byte, error) {
	prov, err := ReadFile(archive + ".prov")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &UnsignedError{Archive: archive}
	case err != nil:
		return nil, fmt.Errorf("%s is not verified: could not load provenance file %[1]s.prov: %[2]w", archive, err)
	}
	return prov, nil
}

// VerifyFile checks the archive at path against the provenance file beside it, as
// [Keyring.Verify] does with the keyring that keys returns, which is asked once there is
// something to check. What is checked is written to w as well, nil for nowhere, so that a
// caller has these bytes whatever becomes of the file; they count only where there is no
// error. An archive without a provenance file is a [*UnsignedError], and a directory cannot
// be verified.
func VerifyFile(path string, w io.Writer, keys func() (*Keyring, error)) (*Signature, error) {
	f, err := file.Open(path)
	if kind := (*file.KindError)(nil); errors.As(err, &kind) && kind.Kind.IsDir() {
		return nil, fmt.Errorf("unpacked charts cannot be verified: %s is a directory, and only archives are signed", path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	prov, err := Beside(path)
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
