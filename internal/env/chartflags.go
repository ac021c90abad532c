// SPDX-License-Identifier: Apache-2.0

package env

import "github.com/spf13/pflag"

// ChartFlags are the flags that say where a chart comes from and how to reach
// it there. For a chart on disk they mean nothing, here as in Helm; scripts
// pass them all the same. Those that would promise something (--repo, --verify)
// are not among them.
type ChartFlags struct {
	texts [7]string
	bools [5]bool
}

// Bind registers the flags, hidden from help. version says whether --version
// is among them: for some commands it means something else.
func (c *ChartFlags) Bind(fs *pflag.FlagSet, version bool) {
	const help = "for charts that are fetched; a chart on disk does not need it"
	names := []string{"username", "password", "ca-file", "cert-file", "key-file", "keyring"}
	if version {
		names = append(names, "version")
	}
	for i, name := range names {
		fs.StringVar(&c.texts[i], name, "", help)
	}
	switches := []string{"devel", "pass-credentials", "insecure-skip-tls-verify", "plain-http", "dependency-update"}
	for i, name := range switches {
		fs.BoolVar(&c.bools[i], name, false, help)
	}
	for _, name := range append(names, switches...) {
		_ = fs.MarkHidden(name) // the flag exists: it was registered above
	}
}
