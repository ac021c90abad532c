// SPDX-License-Identifier: Apache-2.0

package manifest

// quickDecode decodes the plain subset of YAML that templates write nearly
// always; ok is false where raw holds anything else, valid or not.
func quickDecode(raw string, headOnly bool) (v any, ok bool) { return nil, false }
