// SPDX-License-Identifier: Apache-2.0

// Package build has the version and commit of this binary, which the linker sets.
package build

import (
	"runtime"
	"strings"
)

// Set by -ldflags "-X github.com/moonhelm/moonhelm/internal/build.release=...".
var (
	release   = "0.1.0"
	gitCommit = ""
	gitState  = ""
)

// helm4 is the version of Helm with which this program is compatible. Versions begin with it,
// because scripts and plugins compare them; our own version follows the plus sign.
const helm4 = "v4.3.1"

// helm3 is the release of Helm 3 whose flags and files this takes.
const helm3 = "v3.22.0"

// kubeClient is the Kubernetes release whose client libraries are linked in.
const kubeClient = "v1.37"

// Info describes the binary. Its fields are those that scripts read through
// `helm version --template`.
type Info struct {
	Version           string
	GitCommit         string
	GitTreeState      string
	GoVersion         string
	KubeClientVersion string
}

// Current is the running binary.
func Current() Info {
	return Info{Version: helm4 + "+moonhelm." + release, GitCommit: gitCommit, GitTreeState: gitState,
		GoVersion: runtime.Version(), KubeClientVersion: kubeClient}
}

// Release is Moonhelm's own number, such as 0.1.0, without that of Helm.
func Release() string { return release }

// Helm is the running binary as the Helm of that generation, "3" or "4", for programs that
// read nothing but Helm's own numbers: the version has no metadata, and KubeClientVersion,
// which Helm 3 does not report, is "".
func Helm(generation string) Info {
	i := Current()
	i.Version, _, _ = strings.Cut(i.Version, "+")
	if generation == "3" {
		i.Version, i.KubeClientVersion = helm3, ""
	}
	return i
}

// Short is the version with the first digits of the commit, where it is known.
// It stays a semantic version, which has one plus at most.
func (i Info) Short() string {
	if len(i.GitCommit) < 7 {
		return i.Version
	}
	separator := "+"
	if strings.Contains(i.Version, "+") {
		separator = "."
	}
	return i.Version + separator + "g" + i.GitCommit[:7]
}
