// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"errors"
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/hint"
)

func TestFollowableHints(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.Bool("rebase", false, "")
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"none", "", nil},
		{"a flag of the command", "--rebase plans again", []string{"--rebase plans again"}},
		{"a flag of another", "--take-ownership takes it over",
			[]string{"with helm plan upgrade: --take-ownership takes it over"}},
		{"one that names a command", "helm install --replace does", []string{"helm install --replace does"}},
		{"inside of the sentence", "leave it (--force), or not", []string{"with helm plan upgrade: leave it (--force), or not"}},
		{"two", "--rebase\n--force=true", []string{"--rebase", "with helm plan upgrade: --force=true"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plain := errors.New("x")
			err := FollowableHints(fs, "helm plan upgrade", hint.With(plain, tc.text))
			if !errors.Is(err, plain) || err.Error() != "x" {
				t.Errorf("got the error %v", err)
			}
			if got := hint.Of(err); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if FollowableHints(fs, "helm", nil) != nil {
		t.Error("nil is an error")
	}
}
