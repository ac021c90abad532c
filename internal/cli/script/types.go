// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/chart/scaffold"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/script"
)

func newTypes(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "types [CHART]",
		Short: "Write type definitions for editors",
		Long: `Write what a chart's scripts can use, as definitions for lua-language-server: the
context of handlers, and the functions of Moonhelm, with those of the permissions
that the chart asks for. Editors that run it complete, explain and check scripts.

The definitions are written to .luals/ in the chart's directory, and the settings
to .luarc.json, unless that exists. .helmignore keeps both out of packages. CHART is
a directory, the working directory if it is left out.`,
		Example:     `  helm script types ./mychart`,
		Annotations: map[string]string{cmdutil.NotInHelm: ""},
		Args:        cmdutil.Args(0, 1, "the directory of a chart"),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return types(f, dir)
		},
	}
}

func types(f *cmdutil.Factory, dir string) error {
	if info, err := os.Stat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return hint.With(fmt.Errorf("%s is not a directory: types are written into a chart's directory", dir),
			"helm pull --untar unpacks a chart")
	}
	c, _, err := f.Loader().Load(dir)
	if err != nil {
		return err
	}
	permissions, err := script.Permissions(c)
	if err != nil {
		return err
	}
	written, kept, err := scaffold.WriteTypes(dir, permissions)
	for _, name := range written {
		fmt.Fprintf(f.Out, "Wrote %s\n", filepath.Join(dir, name))
	}
	if err != nil {
		return fmt.Errorf("write the types of scripts: %w", err)
	}
	if kept != "" {
		fmt.Fprintf(f.Err, "Kept %s, which was there: workspace.library in it must name .luals\n", filepath.Join(dir, kept))
	}
	return nil
}
