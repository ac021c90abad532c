// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/manifest"
)

// HookWarnings returns a warning for each part of o's hook annotations that has no effect:
// unknown events, because of which the object is left out, unknown policies, and a weight
// that is not an integer. Each is a sentence without the object's name.
func HookWarnings(o *manifest.Object) []string {
	if _, ok := o.Annotations[HookAnnotation]; !ok {
		return nil
	}
	if unknown := UnknownHookEvents(o); len(unknown) > 0 {
		return []string{unknownEventsSentence(unknown)}
	}
	var out []string
	out = append(out, unknownPolicies(o, HookDeleteAnnotation, "hook delete policy", DeletePolicies())...)
	out = append(out, unknownPolicies(o, HookOutputLogAnnotation, "hook output log policy", OutputLogPolicies())...)
	if text, ok := o.Annotations[HookWeightAnnotation]; ok {
		if _, err := strconv.Atoi(text); err != nil {
			out = append(out, fmt.Sprintf("hook weight %q is not an integer and counts as 0", text))
		}
	}
	return out
}

// unknownEventsSentence returns the warning for unknown hook events.
func unknownEventsSentence(unknown []string) string {
	text := fmt.Sprintf("unknown hook event %q: the object is left out (known: %s)", strings.Join(unknown, ","),
		joinWords(HookEvents()))
	for _, word := range unknown {
		if instead := ReplacedEvent(normalWord(word)); instead != "" {
			text += "; " + instead
		}
	}
	return text
}

func unknownPolicies[T ~string](o *manifest.Object, annotation, what string, known []T) []string {
	var out []string
	for _, word := range annotationWords(o, annotation) {
		if !slices.Contains(known, T(word)) {
			out = append(out, fmt.Sprintf("unknown %s %q has no effect (known: %s)", what, word, joinWords(known)))
		}
	}
	return out
}

func joinWords[T ~string](words []T) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}
