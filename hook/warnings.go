// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// Warnings returns what an object's hook annotations say that has no effect: unknown
// events, which leave the object out, unknown policies, and a weight that is not an
// integer. Each is a sentence without the object's name.
func Warnings(o *manifest.Object) []string {
	if _, ok := o.Annotations[Annotation]; !ok {
		return nil
	}
	if unknown := UnknownEvents(o); len(unknown) > 0 {
		return []string{leftOut(unknown)}
	}
	var out []string
	out = append(out, unknownWords(o, DeleteAnnotation, "hook delete policy", release.DeletePolicies())...)
	out = append(out, unknownWords(o, OutputLogAnnotation, "hook output log policy", release.OutputLogPolicies())...)
	if text, ok := o.Annotations[WeightAnnotation]; ok {
		if _, err := strconv.Atoi(text); err != nil {
			out = append(out, fmt.Sprintf("hook weight %q is not an integer and counts as 0", text))
		}
	}
	return out
}

// leftOut is the sentence on events that do not exist.
func leftOut(unknown []string) string {
	text := fmt.Sprintf("unknown hook event %q: the object is left out (known: %s)", strings.Join(unknown, ","), join(release.HookEvents()))
	for _, word := range unknown {
		if instead := release.ReplacedEvent(clean(word)); instead != "" {
			text += "; " + instead
		}
	}
	return text
}

func unknownWords[T ~string](o *manifest.Object, annotation, what string, known []T) []string {
	var out []string
	for _, word := range list(o, annotation) {
		if !slices.Contains(known, T(word)) {
			out = append(out, fmt.Sprintf("unknown %s %q has no effect (known: %s)", what, word, join(known)))
		}
	}
	return out
}

func join[T ~string](words []T) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}
