// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteAtomic replaces the file at path, or creates it, with the content that write writes and with
// the permissions perm. Readers see the old content or all of the new one. If write fails, the old
// file remains. The new content survives a crash of the system only if write calls [os.File.Sync].
func WriteAtomic(path string, perm fs.FileMode, write func(f *os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*.part")
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Chmod(perm)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it is incomplete
	}
	return err
}
