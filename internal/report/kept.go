// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/manifest"
)

// WriteKept prints, in Helm's words, the objects that an uninstall has kept. It prints nothing for none.
func WriteKept(w io.Writer, kept []*manifest.Object) error {
	if len(kept) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("These resources were kept due to the resource policy:\n")
	for _, k := range kept {
		fmt.Fprintf(&b, "[%s] %s\n", term.SafeLine(k.Kind), term.SafeLine(k.Name))
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}
