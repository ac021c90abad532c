// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/file"
)

// cachedValidator is the content of the file with the validator of a cached index. The
// validator is valid only for one URL and user, and only if the index is unchanged.
type cachedValidator struct {
	From   string `json:"from"` // see sourceHash
	SHA256 string `json:"sha256"`
	fetch.Validator
}

// sourceHash returns a hash of the URL and the user. It hides them, because the URL may
// contain a password or a token and the cache may be world-readable.
func sourceHash(e Entry) string {
	sum := sha256.Sum256([]byte(e.URL + "\n" + e.Username))
	return hex.EncodeToString(sum[:])
}

// maxValidator is the largest size of a validator file, in bytes.
const maxValidator = 1 << 20

// validator returns the validator of the cached index, or the zero value if there is none or
// another process has changed the index.
func (c Collection) validator(e Entry) fetch.Validator {
	path, err := c.Cache.path(e.Name, validatorSuffix)
	if err != nil {
		return fetch.Validator{}
	}
	text, err := file.Read(path, maxValidator)
	var m cachedValidator
	if err != nil || json.Unmarshal(text, &m) != nil || m.From != sourceHash(e) || m.Validator == (fetch.Validator{}) {
		return fetch.Validator{}
	}
	cached, err := c.Cache.path(e.Name, indexSuffix)
	if err != nil || c.Cache.Charts(e.Name) == nil {
		return fetch.Validator{}
	}
	f, err := file.Open(cached)
	if err != nil {
		return fetch.Validator{}
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil || hex.EncodeToString(hash.Sum(nil)) != m.SHA256 {
		return fetch.Validator{}
	}
	return m.Validator
}

// saveValidator stores the validator for the next update. Errors are ignored: without it,
// the index is fetched again.
func (c Collection) saveValidator(e Entry, got *fetched) {
	path, err := c.Cache.path(e.Name, validatorSuffix)
	if err != nil {
		return
	}
	if got.validator == (fetch.Validator{}) {
		_ = os.Remove(path)
		return
	}
	text, err := json.Marshal(cachedValidator{From: sourceHash(e), SHA256: got.hash, Validator: got.validator})
	if err == nil {
		_ = writeFile(path, e.cacheMode(), append(text, '\n'))
	}
}

// download fetches the index of a repository into a temporary file.
func (c Collection) download(ctx context.Context, e Entry, have fetch.Validator) (*fetched, error) {
	address, err := e.IndexURL()
	if err != nil {
		return nil, err
	}
	if c.HTTP == nil {
		return nil, &FieldError{Field: "HTTP"}
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, &TimeoutError{After: c.Timeout})
		defer cancel()
	}
	f, err := c.Cache.createTemp(e.Name)
	if err != nil {
		return nil, &CacheError{Dir: c.Cache.Dir, Err: file.WithoutPath(err)}
	}
	got := &fetched{path: f.Name()}
	hash := sha256.New()
	got.validator, err = c.HTTP.Get(ctx, e, address, have, io.MultiWriter(f, hash))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		got.discard()
		if late, ok := errors.AsType[*TimeoutError](context.Cause(ctx)); ok {
			return nil, late // in preference to other errors
		}
		var local *fs.PathError
		if errors.As(err, &local) && local.Path == got.path {
			return nil, &CacheError{Dir: c.Cache.Dir, Err: local.Err}
		}
		return nil, err
	}
	got.hash = hex.EncodeToString(hash.Sum(nil))
	return got, nil
}
