// SPDX-License-Identifier: Apache-2.0

//go:build race

package action

// raceEnabled reports that tests run under the race detector, ten times slower.
const raceEnabled = true
