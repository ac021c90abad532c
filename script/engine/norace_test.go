// SPDX-License-Identifier: Apache-2.0

//go:build !race

package engine_test

// raceDetector takes several times the memory.
const raceDetector = false
