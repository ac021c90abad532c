// SPDX-License-Identifier: Apache-2.0

// Package filetest has what tests of writing files share.
package filetest
