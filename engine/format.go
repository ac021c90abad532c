// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"strings"
)

// checkFormat returns an error if the formatted text may exceed the limit, because of widths,
// large values, or one value that is printed many times. Values of which only the type is
// printed may have any size.
func (f *frame) checkFormat(format string, args []any) error {
	verbs, width, simple := readFormat(format)
	total, largest := len(format)+width, 0
	for i, a := range args {
		if simple && i < len(verbs) && verbs[i] == 'T' {
			continue
		}
		w := newWeight()
		if err := w.check(a); err != nil {
			return err
		}
		nodes, bytes := w.used()
		f.work(nodes)
		total += bytes
		largest = max(largest, bytes)
	}
	if !simple { // a verb may choose its argument
		total += len(verbs) * largest
	}
	if total > maxText {
		return errGrowsTooLong
	}
	f.work(total >> 6)
	return nil
}

var errGrowsTooLong = errors.New("the text that comes out is too long")

// widestArg is the assumed width if an argument sets it.
const widestArg = 1_000_000

// readFormat returns the verbs of a format and the sum of their widths. simple reports whether
// each verb prints the argument with the same index.
func readFormat(format string) (verbs []byte, width int, simple bool) {
	simple = true
	for {
		start := strings.IndexByte(format, '%')
		if start < 0 || width > maxText {
			return verbs, width, simple
		}
		format = strings.TrimLeft(format[start+1:], "+-# 0")
		num := 0
		i := 0
		for ; i < len(format) && strings.IndexByte("+-# 0123456789.*[]", format[i]) >= 0; i++ {
			c := format[i]
			if c >= '0' && c <= '9' {
				num = min(num*10+int(c-'0'), maxText)
				continue
			}
			if c == '*' {
				width += widestArg
			}
			simple = simple && c == '.'
			width += num
			num = 0
		}
		width += num
		if i == len(format) {
			return verbs, width, simple
		}
		if format[i] != '%' {
			verbs = append(verbs, format[i])
		}
		format = format[i+1:]
	}
}
