// SPDX-License-Identifier: Apache-2.0

// Command helm is the Kubernetes package manager Moonhelm.
package main

import (
	"os"

	"github.com/moonhelm/moonhelm/internal/cli"
	_ "github.com/moonhelm/moonhelm/internal/subprocess" // started under another name, helm runs charts' scripts
	"github.com/moonhelm/moonhelm/internal/term"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], term.Standard()))
}
