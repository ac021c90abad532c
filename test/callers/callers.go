// SPDX-License-Identifier: Apache-2.0

// Package callers runs the programs that people use with helm (helmfile, kustomize, Ansible,
// plugins, shells) with our binary and with both of Helm's, and checks the table of
// docs/callers.md. See README.md.
package callers
