// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/moonhelm/moonhelm/repo"
)

// A Collection without a Getter returns an error.
func TestCollectionWithoutGetter(t *testing.T) {
	c := repo.Collection{Path: filepath.Join(t.TempDir(), "repositories.yaml"), Cache: repo.Cache{Dir: t.TempDir()}}
	e := repo.Entry{Name: "shop", URL: "https://charts.example"}
	_, fetched := c.Fetch(t.Context(), e)
	_, added := c.Add(t.Context(), e, false, false)
	for method, err := range map[string]error{"Fetch": fetched, "Add": added, "Update": c.Update(t.Context(), []repo.Entry{e}, nil)} {
		t.Run(method, func(t *testing.T) {
			var missing *repo.FieldError
			if !errors.As(err, &missing) || missing.Field != "HTTP" {
				t.Errorf("%s: got %v, want a FieldError for HTTP", method, err)
			}
		})
	}
}
