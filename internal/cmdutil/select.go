// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/moonhelm/moonhelm/storage"
)

// ReleaseFilter returns the filter that --filter, a regular expression, and --selector, a label
// selector, ask for; "" selects all.
func ReleaseFilter(filter, selector string) (storage.Filter, error) {
	var f storage.Filter
	if filter != "" {
		re, err := regexp.Compile(filter)
		if err != nil {
			return f, fmt.Errorf("--filter: %w", err)
		}
		f.Name = re.MatchString
	}
	if selector != "" {
		sel, err := labels.Parse(selector)
		if err != nil {
			return f, fmt.Errorf("--selector: %w", err)
		}
		f.Match = func(m map[string]string) bool { return sel.Matches(labels.Set(m)) }
	}
	return f, nil
}
