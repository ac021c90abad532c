// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// writeProvenance writes the text of the provenance file of a plugin's archive, which is signed in clear:
// metadata of the plugin and, after a line of dots, the checksum of the archive, as helm plugin package has
// them.
func writeProvenance(archive string, out io.Writer) error {
	name := filepath.Base(archive)
	parts, err := splitArchiveName(name)
	if err != nil {
		return err
	}
	plugin, ok := strings.CutPrefix(parts.product, "moonhelm-")
	if !ok {
		return fmt.Errorf("%s: is not the archive of a plugin", name)
	}
	sum, err := checksum(archive)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "apiVersion: legacy\nname: %s\nversion: %s\ntype: cli/v1\nruntime: subprocess\n\n"+
		"...\nfiles:\n  %s: sha256:%s\n", plugin, parts.version, name, sum)
	return err
}
