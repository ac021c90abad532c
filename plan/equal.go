// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// sameValue reports whether live equals want for the API. want is the complete value: of a
// list that is replaced as a whole, or a plain value. parent and key are the keys of its
// position.
func (m *merger) sameValue(parent, key string, want, live any) bool {
	switch w := want.(type) {
	case nil:
		return live == nil || m.isAbsent(key, live)
	case map[string]any:
		h, ok := live.(map[string]any)
		if !ok {
			return live == nil && m.isAbsent(key, w)
		}
		for k, e := range w {
			if !m.sameValue(key, k, e, h[k]) {
				return false
			}
		}
		for k, e := range h {
			if _, wanted := w[k]; !wanted && !m.isAbsent(k, e) && !(m.builtIn && isDefault(k, e)) {
				return false
			}
		}
		return true
	case []any:
		h, ok := live.([]any)
		if !ok {
			return live == nil && m.isAbsent(key, w)
		}
		if len(h) != len(w) {
			return false
		}
		for i, e := range w {
			if !m.sameValue(parent, key, e, h[i]) {
				return false
			}
		}
		return true
	}
	return equal(want, live) ||
		live == nil && m.isZero(parent, key, want) ||
		m.builtIn && (m.table.quantities[key] || m.table.quantities[parent]) && sameQuantity(want, live)
}

// isDefault reports whether v is the API's default for key, in the items of lists that are
// replaced as a whole: ports of network policies, claims of stateful sets, subjects of role
// bindings, rules of webhooks, sources of projected volumes.
func isDefault(key string, v any) bool {
	switch key {
	case "protocol":
		return v == "TCP"
	case "volumeMode":
		return v == "Filesystem"
	case "scope":
		return v == "*"
	case "apiGroup":
		return v == "rbac.authorization.k8s.io"
	case "apiVersion":
		return v == "v1"
	case "kind":
		return v == "PersistentVolumeClaim"
	case "expirationSeconds":
		return equal(v, int64(3600))
	case "status":
		status, ok := v.(map[string]any)
		return ok && len(status) == 1 && status["phase"] == "Pending"
	}
	return false
}

// equal compares plain values; 1 and 1.0 are equal.
func equal(a, b any) bool {
	switch a.(type) {
	case string, bool:
		return a == b
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	if a == b {
		return true
	}
	ai, aWhole := integer(a)
	bi, bWhole := integer(b)
	return aWhole && bWhole && ai == bi
}

// integer returns v as an integer, if it is a whole number.
func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return int64(v), true
		}
	}
	return 0, false
}

// sameQuantity reports whether two quantities are equal, such as "1000m" and "1" or the number
// 1.
func sameQuantity(a, b any) bool {
	qa, okA := quantityOf(a)
	qb, okB := quantityOf(b)
	return okA && okB && qa.Cmp(qb) == 0
}

func quantityOf(v any) (resource.Quantity, bool) {
	var text string
	switch v := v.(type) {
	case string:
		text = v
	case int64:
		return *resource.NewQuantity(v, resource.DecimalSI), true
	case float64:
		text = formatFloat(v)
	default:
		return resource.Quantity{}, false
	}
	// ParseQuantity panics, or is slow, for exponents that the API does not accept.
	exponent := strings.IndexAny(text, "eE")
	if len(text) > 64 || exponent >= 0 && len(text)-exponent > len("e-18") {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}
