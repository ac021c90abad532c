// SPDX-License-Identifier: Apache-2.0

package env

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/moonhelm/moonhelm/storage"
)

// CheckLabels tells which of a user's labels could not stand on a release's
// record: before anything is written, not when the record is.
func CheckLabels(labels map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if storage.SystemLabel(key) {
			return fmt.Errorf("--labels: user supplied labels contains system reserved label name %q. System labels: [%s]", key, storage.SystemLabels())
		}
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			return fmt.Errorf("--labels: %q is not a name of a label: %s", key, strings.Join(problems, "; "))
		}
		if problems := validation.IsValidLabelValue(labels[key]); len(problems) > 0 {
			return fmt.Errorf("--labels: %q is not a value for the label %s: %s", labels[key], key, strings.Join(problems, "; "))
		}
	}
	return nil
}
