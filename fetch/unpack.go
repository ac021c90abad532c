// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
)

// unpacker reads gzip. If the data is not valid gzip, the error is an [*EncodingError];
// errors of the underlying reader are returned as they are.
type unpacker struct {
	packed io.Reader
	z      *gzip.Reader
}

func (u *unpacker) Read(p []byte) (n int, err error) {
	if u.z == nil {
		u.z, err = gzip.NewReader(u.packed)
	}
	if err == nil {
		n, err = u.z.Read(p)
	}
	var corrupt flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt) {
		err = &EncodingError{Encoding: "gzip", Err: err}
	}
	return n, err
}
