// SPDX-License-Identifier: Apache-2.0

package provenance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// The tags of packets of keys (RFC 9580, section 5).
const (
	tagSignature    = 2
	tagSecretKey    = 5
	tagPublicKey    = 6
	tagSecretSubkey = 7
	tagUserID       = 13
	tagPublicSubkey = 14
	tagAttribute    = 17
)

// maxPacket is the largest size of a packet, in bytes. GnuPG writes no larger keys. Photo ids
// may be larger and are skipped.
const maxPacket = 256 << 10

// rawPacket is an encoded packet.
type rawPacket struct {
	tag  byte
	body []byte
}

// nextPacket splits the first packet off data. Packets of keys have definite lengths: an
// indeterminate or partial length is an error.
func nextPacket(data []byte) (p rawPacket, rest []byte, err error) {
	damaged := errors.New("it is damaged")
	head := data[0]
	if head&0x80 == 0 {
		return p, nil, damaged
	}
	var size, offset uint64
	if head&0x40 == 0 { // the old format
		p.tag = head >> 2 & 0x0f
		offset = 1 + 1<<(head&3)
		if head&3 == 3 || uint64(len(data)) < offset {
			return p, nil, damaged
		}
		for _, b := range data[1:offset] {
			size = size<<8 | uint64(b)
		}
	} else {
		p.tag = head & 0x3f
		if size, offset = newLength(data[1:]); offset == 0 {
			return p, nil, damaged
		}
		offset++
	}
	if size > uint64(len(data))-offset {
		return p, nil, errors.New("it is damaged or truncated")
	}
	p.body = data[offset : offset+size]
	if size > maxPacket && p.tag != tagAttribute {
		return p, nil, fmt.Errorf("a packet in it is larger than %d KiB", maxPacket>>10)
	}
	return p, data[offset+size:], nil
}

// newLength decodes a definite length of the new format and returns the size of its encoding,
// which is 0 if it is of another kind or truncated.
func newLength(data []byte) (size, taken uint64) {
	switch {
	case len(data) >= 1 && data[0] < 192:
		return uint64(data[0]), 1
	case len(data) >= 2 && data[0] < 224:
		return uint64(data[0]-192)<<8 + uint64(data[1]) + 192, 2
	case len(data) >= 5 && data[0] == 255:
		return uint64(binary.BigEndian.Uint32(data[1:])), 5
	}
	return 0, 0
}

// framed returns the packet with its header.
func (p rawPacket) framed() []byte {
	out := make([]byte, 6, 6+len(p.body))
	out[0], out[1] = 0xc0|p.tag, 255
	binary.BigEndian.PutUint32(out[2:], uint32(len(p.body)))
	return append(out, p.body...)
}

// read decodes the packet. It returns nil if the type is unknown.
func (p rawPacket) read() packet.Packet {
	got, err := packet.Read(bytes.NewReader(p.framed()))
	if err != nil {
		return nil
	}
	return got
}

// key decodes the packet of a key or subkey. It returns nil if the type is unknown. secret
// reports whether the packet has the secret key.
func (p rawPacket) key() (key *packet.PublicKey, secret bool) {
	switch k := p.read().(type) {
	case *packet.PublicKey:
		return k, false
	case *packet.PrivateKey:
		return &k.PublicKey, !k.Dummy()
	}
	return nil, false
}

// signature decodes the packet of a signature. It returns nil if the type is unknown.
func (p rawPacket) signature() *packet.Signature {
	s, _ := p.read().(*packet.Signature)
	return s
}
