// SPDX-License-Identifier: Apache-2.0

package provenance

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// MaxProvenance is the largest size of a provenance file, in bytes. The largest Chart.yaml
// has 5 MiB.
const MaxProvenance = 8 << 20

// maxSignatures is the maximum number of signatures of a provenance file.
const maxSignatures = 32

// separator is the line between the chart's metadata and the hashes.
const separator = "..."

// ReadFile reads the provenance file at path, which must be a regular file.
func ReadFile(path string) ([]byte, error) { return file.Read(path, MaxProvenance) }

// compose returns the text to sign.
func compose(name, digest string, metadata []byte) ([]byte, error) {
	files, err := yaml.Marshal(map[string]map[string]string{"files": {name: digest}})
	if err != nil {
		return nil, err
	}
	text := bytes.TrimRight(metadata, "\n")
	return bytes.Join([][]byte{text, []byte("\n\n" + separator + "\n"), files}, nil), nil
}

// message is a parsed provenance file. Its signatures are not verified.
type message struct {
	text       []byte // without dash-escaping
	signed     []byte // canonical, as it was signed
	signatures []*packet.Signature
}

const beginMessage = "-----BEGIN PGP SIGNED MESSAGE-----"

// parseMessage parses a provenance file. Text before or after the signed message is an error,
// because it is not signed and could mislead readers.
func parseMessage(prov []byte) (*message, error) {
	if len(prov) > MaxProvenance {
		return nil, fmt.Errorf("it is larger than %d MiB", MaxProvenance>>20)
	}
	prov = bytes.TrimSpace(bytes.TrimPrefix(prov, []byte("\xef\xbb\xbf")))
	if len(prov) == 0 {
		return nil, errors.New("it is empty")
	}
	if !bytes.HasPrefix(prov, []byte(beginMessage)) {
		if bytes.Contains(prov, []byte(beginMessage)) {
			return nil, errors.New("there is unsigned text before the signed message")
		}
		return nil, errors.New("it has no signed message")
	}
	block, rest := clearsign.Decode(prov)
	if block == nil {
		return nil, errors.New("the signed message is damaged")
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("there is unsigned text after the signature")
	}
	m := &message{text: block.Plaintext, signed: block.Bytes}
	return m, m.readSignatures(block.ArmoredSignature.Body)
}

func (m *message) readSignatures(armoured io.Reader) error {
	packets := packet.NewReader(armoured)
	for {
		p, err := packets.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		sig, ok := p.(*packet.Signature)
		switch {
		case err != nil:
			return fmt.Errorf("the signature is damaged or of an unknown type: %w", err)
		case !ok:
			return errors.New("the message is not followed by a signature")
		case len(m.signatures) == maxSignatures:
			return errors.New("it has too many signatures")
		}
		m.signatures = append(m.signatures, sig)
	}
	if len(m.signatures) == 0 {
		return errors.New("the message has no signature of a known type")
	}
	return nil
}

// listed returns the hashes in a signed text ("sha256:<hex>") by file name.
func listed(text []byte) (map[string]string, error) {
	lines := strings.Split(strings.ReplaceAll(string(text), "\r", ""), "\n")
	index := -1
	for i, line := range lines {
		if strings.TrimRight(line, " \t") != separator {
			continue
		}
		if index >= 0 {
			return nil, errors.New("the signed text has more than metadata and hashes: several lines of three dots")
		}
		index = i
	}
	if index < 0 {
		return nil, errors.New("the signed text has no hashes: there is no line of three dots")
	}
	return parseFiles(strings.Join(lines[index+1:], "\n"))
}

// parseFiles parses the part with the hashes. It parses YAML nodes to detect duplicate
// keys.
func parseFiles(text string) (map[string]string, error) {
	dec := yaml.NewDecoderV3(strings.NewReader(text))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("the list of hashes is not YAML: %w", err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than the list of hashes")
	}
	top, err := pairs(&doc)
	if err != nil {
		return nil, err
	}
	files, err := pairs(top["files"])
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(files))
	for name, node := range files {
		if node.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("the hash of %q is not a string", name)
		}
		out[name] = node.Value
	}
	return out, nil
}

// pairs returns the pairs of a mapping whose keys must be unique strings.
func pairs(node *yaml.Node) (map[string]*yaml.Node, error) {
	if node != nil && node.Kind == yaml.DocumentNode && len(node.Content) == 1 {
		node = node.Content[0]
	}
	if node == nil || node.Kind != yaml.MappingNode {
		return nil, errors.New("the list of hashes has no \"files\"")
	}
	out := make(map[string]*yaml.Node, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind != yaml.ScalarNode {
			return nil, errors.New("a name in the list of hashes is not a string")
		}
		if _, twice := out[key.Value]; twice {
			return nil, fmt.Errorf("the list of hashes has %q twice", key.Value)
		}
		out[key.Value] = node.Content[i+1]
	}
	return out, nil
}

// sha256Of returns the hash in "sha256:<hex>".
func sha256Of(listed string) (string, error) {
	digest, ok := strings.CutPrefix(listed, "sha256:")
	if raw, err := hex.DecodeString(digest); !ok || err != nil || len(raw) != 32 {
		return "", fmt.Errorf("the hash %q is not sha256: and 64 hexadecimal digits", listed)
	}
	return strings.ToLower(digest), nil
}
