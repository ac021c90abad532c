// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"math"
	"strings"

	"github.com/Masterminds/sprig/v3"
)

// maxItems bounds the lists that functions make from nothing but a number.
const maxItems = 1_000_000

// boundedFuncs are sprig's functions whose result may be of any size, with a
// limit on it.
func boundedFuncs() map[string]any {
	all := sprig.GenericFuncMap()
	repeat := all["repeat"].(func(int, string) string)
	until := all["until"].(func(int) []int)
	untilStep := all["untilStep"].(func(int, int, int) []int)
	indent := all["indent"].(func(int, string) string)
	seq := all["seq"].(func(...int) string)
	bounded := func(name string) any {
		random := all[name].(func(int) string)
		return func(n int) (string, error) {
			if n > maxItems {
				return "", tooLarge(n)
			}
			return random(n), nil
		}
	}
	indented := func(n int, text string) (string, error) {
		if n > maxText || n*(strings.Count(text, "\n")+1) > maxText {
			return "", tooLarge(n)
		}
		return indent(n, text), nil
	}
	return map[string]any{
		"repeat": func(n int, text string) (string, error) {
			if n > 0 && len(text) > maxText/n {
				return "", tooLarge(n)
			}
			return repeat(n, text), nil
		},
		"until": func(n int) ([]int, error) {
			if n > maxItems || n < -maxItems {
				return nil, tooLarge(n)
			}
			return until(n), nil
		},
		"untilStep": func(from, to, step int) ([]int, error) {
			if items := math.Abs((float64(to) - float64(from)) / float64(step)); step != 0 && items > maxItems || max(math.Abs(float64(to)), math.Abs(float64(step))) > 1<<61 {
				return nil, tooLarge(int(min(items, 1<<60)))
			}
			return untilStep(from, to, step), nil
		},
		"seq": func(params ...int) (string, error) {
			for _, n := range params {
				if n > maxItems || n < -maxItems {
					return "", tooLarge(n)
				}
			}
			return seq(params...), nil
		},
		"indent": indented,
		"nindent": func(n int, text string) (string, error) {
			text, err := indented(n, text)
			return "\n" + text, err
		},
		"randAlpha":    bounded("randAlpha"),
		"randAlphaNum": bounded("randAlphaNum"),
		"randAscii":    bounded("randAscii"),
		"randNumeric":  bounded("randNumeric"),
	}
}

func tooLarge(n int) error { return fmt.Errorf("%d is more than templates may ask for", n) }
