// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/hint"
)

// flagWord matches a flag in a hint.
var flagWord = regexp.MustCompile(`(?:^|\s|[(,])--([a-z][a-z0-9-]+)`)

// FollowableHints returns err with hints that the user of a command with the flags fs can follow. An
// error does not know which command it ends: a hint that names a flag which this one does not have, and
// no command, names other, which has it.
func FollowableHints(fs *pflag.FlagSet, other string, err error) error {
	lines := hint.Of(err)
	changed := false
	for i, line := range lines {
		if strings.Contains(line, "helm ") {
			continue
		}
		for _, word := range flagWord.FindAllStringSubmatch(line, -1) {
			if fs.Lookup(word[1]) == nil {
				lines[i], changed = "with "+other+": "+line, true
				break
			}
		}
	}
	if !changed {
		return err
	}
	return hint.With(err, strings.Join(lines, "\n"))
}
