// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

func (m *module) textFunctions() []function {
	sum := func(c *call) error {
		text, err := c.text(0)
		if err != nil {
			return err
		}
		c.spend(uint64(len(text))/8 + 64)
		c.borrow(uint64(len(text))) // the copy as bytes
		h := sha256.Sum256([]byte(text))
		c.giveText(hex.EncodeToString(h[:]))
		return nil
	}
	return []function{
		{
			Function: Function{Name: "base64.encode", Signature: "base64.encode(bytes) → text",
				Text: "Writes bytes as standard base64, padded, on one line."},
			args: 1, do: func(c *call) error {
				text, err := c.text(0)
				if err != nil {
					return err
				}
				n := uint64(base64.StdEncoding.EncodedLen(len(text)))
				c.spend(n / 8)
				c.borrow(n + uint64(len(text)))
				c.giveText(base64.StdEncoding.EncodeToString([]byte(text)))
				return nil
			},
		},
		{
			Function: Function{Name: "base64.decode", Signature: "base64.decode(text) → bytes",
				Text: "Reads standard base64 with its padding; line ends in it do not matter."},
			args: 1, do: func(c *call) error {
				text, err := c.text(0)
				if err != nil {
					return err
				}
				c.spend(uint64(len(text)) / 4)
				c.borrow(2 * uint64(len(text)))
				out, err := base64.StdEncoding.DecodeString(text)
				if err != nil {
					return c.fail("the text is not standard base64: %w", err)
				}
				c.giveText(string(out))
				return nil
			},
		},
		{
			Function: Function{Name: "sha256", Signature: "sha256(bytes) → text",
				Text: "The SHA-256 digest of bytes, in hexadecimal."},
			args: 1, do: sum,
		},
		{
			Function: Function{Name: "sha256.sum", Signature: "sha256.sum(bytes) → text",
				Text: "The same as sha256(bytes)."},
			args: 1, do: sum,
		},
	}
}
