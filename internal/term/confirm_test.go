// SPDX-License-Identifier: Apache-2.0

package term

import (
	"context"
	"errors"
	"io"
	"testing"
)

func TestConfirm(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		name    string
		answers []string
		fail    error
		want    string // message of a DeclinedError, or ""
		asked   int
	}{
		{"yes", []string{"y"}, nil, "", 1},
		{"yes, later", []string{"", "what?", " YES "}, nil, "", 3},
		{"no", []string{"No"}, nil, "they were refused", 1},
		{"something else", []string{"1", "2", "3", "4", "5", "y"}, nil, "there was no answer that is y, yes, n or no", 5},
		{"end of input", nil, io.EOF, "the question was left without an answer", 1},
		{"broken", nil, broken, "", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var prompts []string
			err := Confirm(t.Context(), func(prompt string) (string, error) {
				prompts = append(prompts, prompt)
				if test.fail != nil {
					return "", test.fail
				}
				return test.answers[len(prompts)-1], nil
			}, "Who?\n")
			var declined *DeclinedError
			if errors.As(err, &declined) != (test.want != "") || test.want != "" && declined.Reason != test.want {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if errors.Is(err, broken) != errors.Is(test.fail, broken) {
				t.Errorf("got %v, want %v", err, test.fail)
			}
			if len(prompts) != test.asked || prompts[0] != "Who?\n"+allow {
				t.Errorf("asked %q", prompts)
			}
		})
	}
}

func TestConfirmContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hang := make(chan struct{})
	defer close(hang)
	err := Confirm(ctx, func(string) (string, error) { cancel(); <-hang; return "y", nil }, "")
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
