// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// The parts of SPDX 2.3 that are used: https://spdx.github.io/spdx-spec/v2.3/.
type document struct {
	SPDXID            string         `json:"SPDXID"`
	Version           string         `json:"spdxVersion"`
	DataLicense       string         `json:"dataLicense"`
	Name              string         `json:"name"`
	DocumentNamespace string         `json:"documentNamespace"`
	CreationInfo      creation       `json:"creationInfo"`
	Packages          []spdxPackage  `json:"packages"`
	Relationships     []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	SPDXID           string      `json:"SPDXID"`
	Name             string      `json:"name"`
	Version          string      `json:"versionInfo,omitempty"`
	FileName         string      `json:"packageFileName,omitempty"`
	Supplier         string      `json:"supplier,omitempty"`
	DownloadLocation string      `json:"downloadLocation"`
	FilesAnalyzed    bool        `json:"filesAnalyzed"`
	Purpose          string      `json:"primaryPackagePurpose,omitempty"`
	Checksums        []hash      `json:"checksums,omitempty"`
	LicenseConcluded string      `json:"licenseConcluded"`
	LicenseDeclared  string      `json:"licenseDeclared"`
	Copyright        string      `json:"copyrightText"`
	ExternalRefs     []reference `json:"externalRefs,omitempty"`
}

type hash struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const (
	noAssertion = "NOASSERTION"
	binaryID    = "SPDXRef-Package-binary"
	archiveID   = "SPDXRef-Package-archive"
)

// writeSBOM lists an archive, the binary in it, and the Go modules and the Go release that the
// binary says it was built from.
func writeSBOM(archive, file string, created time.Time) error {
	name := filepath.Base(archive)
	parts, err := splitArchiveName(name)
	if err != nil {
		return err
	}
	binary, err := binaryOf(archive, parts.binary())
	if err != nil {
		return fmt.Errorf("%s: %w", archive, err)
	}
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return fmt.Errorf("%s: the binary does not say what it was built from: %w", archive, err)
	}
	sum, err := checksum(archive)
	if err != nil {
		return err
	}
	binarySum := sha256.Sum256(binary)
	doc := document{
		SPDXID: "SPDXRef-DOCUMENT", Version: "SPDX-2.3", DataLicense: "CC0-1.0", Name: name,
		// The namespace is a name, unique to these bytes. Nothing needs to be there.
		DocumentNamespace: repository + "/spdx/" + name + "/" + sum,
		CreationInfo: creation{created.Format(time.RFC3339),
			[]string{"Organization: Moonhelm", "Tool: moonhelm-tools-dist"}},
		Packages: []spdxPackage{
			{
				SPDXID: archiveID, Name: name, Version: parts.version, FileName: name, Supplier: "Organization: Moonhelm",
				DownloadLocation: repository + "/releases/download/v" + parts.version + "/" + name,
				Purpose:          "ARCHIVE", Checksums: []hash{{"SHA256", sum}},
				LicenseConcluded: "Apache-2.0", LicenseDeclared: "Apache-2.0", Copyright: noAssertion,
			},
			{
				SPDXID: binaryID, Name: strings.TrimSuffix(parts.binary(), ".exe"), Version: parts.version, Supplier: "Organization: Moonhelm",
				DownloadLocation: noAssertion, Purpose: "APPLICATION",
				Checksums:        []hash{{"SHA256", hex.EncodeToString(binarySum[:])}},
				LicenseConcluded: "Apache-2.0", LicenseDeclared: "Apache-2.0", Copyright: noAssertion,
				ExternalRefs: []reference{purl("golang", info.Main.Path, "v"+parts.version)},
			},
		},
		Relationships: []relationship{
			{"SPDXRef-DOCUMENT", "DESCRIBES", archiveID},
			{archiveID, "CONTAINS", binaryID},
		},
	}
	doc.add("stdlib", strings.TrimPrefix(strings.Fields(info.GoVersion)[0], "go"), "BSD-3-Clause", nil)
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		doc.add(module.Path, module.Version, noAssertion, moduleHash(module))
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(out, '\n'), 0o644)
}

// add lists a module that the binary is built from. Licenses of modules are not concluded: that
// takes reading them.
func (d *document) add(module, version, license string, sums []hash) {
	id := fmt.Sprintf("SPDXRef-Package-go-%d", len(d.Packages))
	d.Packages = append(d.Packages, spdxPackage{
		SPDXID: id, Name: module, Version: version, DownloadLocation: noAssertion, Purpose: "LIBRARY",
		Checksums: sums, LicenseConcluded: license, LicenseDeclared: license, Copyright: noAssertion,
		ExternalRefs: []reference{purl("golang", module, version)},
	})
	d.Relationships = append(d.Relationships, relationship{binaryID, "DEPENDS_ON", id})
}

func purl(kind, name, version string) reference {
	return reference{"PACKAGE-MANAGER", "purl", fmt.Sprintf("pkg:%s/%s@%s", kind, name,
		strings.ReplaceAll(version, "+", "%2B"))}
}

// moduleHash is the h1 hash of go.sum, which is a SHA-256 of the module's files and their
// names, as SPDX writes hashes.
func moduleHash(module *debug.Module) []hash {
	text, ok := strings.CutPrefix(module.Sum, "h1:")
	raw, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		return nil
	}
	return []hash{{"SHA256", hex.EncodeToString(raw)}}
}

// binaryOf returns the file called name of an archive.
func binaryOf(archive, name string) ([]byte, error) {
	data, err := os.ReadFile(archive)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(archive, ".zip") {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, err
		}
		for _, f := range z.File {
			if path.Base(f.Name) == name {
				r, err := f.Open()
				if err != nil {
					return nil, err
				}
				defer r.Close()
				return io.ReadAll(r)
			}
		}
		return nil, fmt.Errorf("has no %s", name)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(z); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("has no %s", name)
		}
		if err != nil {
			return nil, err
		}
		if path.Base(header.Name) == name && header.Typeflag == tar.TypeReg {
			return io.ReadAll(r)
		}
	}
}
