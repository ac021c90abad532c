// SPDX-License-Identifier: Apache-2.0

package get

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plan/patch"
	"github.com/moonhelm/moonhelm/release"
)

// printPatches prints the files that the patches of a revision were given in.
func printPatches(f *cmdutil.Factory, o Options, rel *release.Release) error {
	files, err := patch.Recorded(rel.Patches)
	if err != nil {
		return err
	}
	if files == nil {
		files = []patch.File{}
	}
	return o.Output.Write(f.Out, files, func(w io.Writer) error {
		_, err := io.WriteString(term.SafeWriter(w), patchText(files))
		return err
	})
}

// patchText returns files as YAML documents, each with its name. A file that another one names by path
// follows it.
func patchText(files []patch.File) string {
	var b strings.Builder
	add := func(name, text string) {
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		fmt.Fprintf(&b, "---\n# Source: %s\n%s", name, strings.TrimPrefix(text, "---\n"))
	}
	for _, file := range files {
		add(file.Name, file.Text)
		for _, name := range slices.Sorted(maps.Keys(file.Files)) {
			add(file.Name+": "+name, file.Files[name])
		}
	}
	return b.String()
}
