// SPDX-License-Identifier: Apache-2.0

// Package compat holds our binary against Helm's: real charts with Helm's own
// answers, and releases that one of the two made and the other reads, lists and
// uninstalls. It knows nothing of the code inside; it runs programs.
package compat
