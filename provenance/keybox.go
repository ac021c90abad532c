// SPDX-License-Identifier: Apache-2.0

package provenance

import (
	"encoding/binary"
	"errors"
)

// A keybox (GnuPG 2.1 and later, documented in kbx/keybox-blob.c) is a sequence of blobs with
// big-endian numbers:
//
//	0   u32  length of the blob
//	4   u8   type: 1 for the first, which describes the file, 2 for an OpenPGP key
//	5   u8   version
//	6   u16  flags
//	8   u32  in a key's blob, the offset of its packets
//	12  u32  and their size
//
// The first blob has "KBXf" at offset 8. The other fields are used by GnuPG's searches.
const (
	keyboxHeader  = 1
	keyboxOpenPGP = 2
	keyboxMagic   = "KBXf"
	keyboxMinimum = 16
)

var errDamagedKeybox = errors.New("the keybox is damaged")

func isKeybox(data []byte) bool {
	return len(data) >= 12 && data[4] == keyboxHeader && string(data[8:12]) == keyboxMagic
}

// addKeybox reads the keys of a keybox. It skips keys of unknown types, because a keybox is
// GnuPG's database for all types of keys.
func (cs *certificates) addKeybox(data []byte) error {
	for len(data) > 0 {
		if len(data) < 5 {
			return errDamagedKeybox
		}
		length := uint64(binary.BigEndian.Uint32(data))
		if length < 5 || length > uint64(len(data)) {
			return errDamagedKeybox
		}
		blob := data[:length]
		data = data[length:]
		if blob[4] != keyboxOpenPGP {
			continue // X.509 certificates and deleted blobs
		}
		if len(blob) < keyboxMinimum {
			return errDamagedKeybox
		}
		start, size := uint64(binary.BigEndian.Uint32(blob[8:])), uint64(binary.BigEndian.Uint32(blob[12:]))
		if start+size > length {
			return errDamagedKeybox
		}
		_ = cs.add(blob[start : start+size]) // the rest of a damaged blob is skipped
		if cs.packets > maxPackets {
			return errTooMuch
		}
	}
	return nil
}
