// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"

	_ "github.com/moonhelm/moonhelm/internal/child" // the helm of these tests runs charts' scripts, as the real one does
)

// site is the address of a web server that has what examples/network fetches.
// It runs as long as the tests do.
var site = sync.OnceValue(func() string {
	pages := map[string]string{
		"/ranges.json": `{"ranges": ["192.0.2.0/24", "2001:db8::/32"]}`,
		"/lies.json":   `{"ranges": ["anybody"]}`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, page)
	})).URL
})
