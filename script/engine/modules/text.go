// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

func textFunctions() []function {
	return []function{
		fn("base64.encode", "(bytes) → text", "Writes bytes as standard base64, padded, on one line.", 1,
			takesText((*call).encodeBase64)),
		fn("base64.decode", "(text) → bytes", "Reads standard base64 with its padding; line ends in it do not matter.", 1,
			takesText((*call).decodeBase64)),
		fn("sha256", "(bytes) → text", "The SHA-256 digest of bytes, in hexadecimal.", 1, takesText((*call).sha256)),
		fn("sha256.sum", "(bytes) → text", "The same as sha256(bytes).", 1, takesText((*call).sha256)),
	}
}

func (c *call) encodeBase64(text string) error {
	n := uint64(base64.StdEncoding.EncodedLen(len(text)))
	c.spend(n / 8)
	c.borrow(n + uint64(len(text)))
	return c.giveText(base64.StdEncoding.EncodeToString([]byte(text)))
}

func (c *call) decodeBase64(text string) error {
	c.spend(uint64(len(text)) / 4)
	c.borrow(2 * uint64(len(text)))
	out, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return c.fail("the text is not standard base64: %w", err)
	}
	return c.giveText(string(out))
}

func (c *call) sha256(text string) error {
	c.spend(uint64(len(text))/8 + 64)
	c.borrow(uint64(len(text))) // the copy as bytes
	sum := sha256.Sum256([]byte(text))
	return c.giveText(hex.EncodeToString(sum[:]))
}
