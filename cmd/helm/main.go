// SPDX-License-Identifier: Apache-2.0

// Command helm is the Kubernetes package manager Moonhelm.
package main

import (
	"os"

	_ "github.com/moonhelm/moonhelm/internal/child" // started under another name, helm runs charts' scripts
	"github.com/moonhelm/moonhelm/internal/cli"
	"github.com/moonhelm/moonhelm/internal/term"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], term.Standard()))
}
