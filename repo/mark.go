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
	"strings"

	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/file"
)

// memory is the file that keeps a mark, and what it is worth: it is of what one
// user was answered at one URL, and says nothing if the index beside it is not
// the bytes of that answer any more.
type memory struct {
	From   string `json:"from"` // see asked
	SHA256 string `json:"sha256"`
	fetch.Validator
}

// asked tells URL and user from others, and does not tell them: a URL may hold a
// password or a token, and the cache is for everybody to read.
func asked(e Entry) string {
	sum := sha256.Sum256([]byte(e.URL + "\n" + e.Username))
	return hex.EncodeToString(sum[:])
}

// maxMark is the largest file with a mark that is read, in bytes.
const maxMark = 1 << 20

// mark is what the server said of the index that is cached, zero where no one
// knows or another process has changed it since.
func (c Collection) mark(e Entry) fetch.Validator {
	path, err := c.Cache.path(e.Name, markSuffix)
	if err != nil {
		return fetch.Validator{}
	}
	text, err := file.Read(path, maxMark)
	var m memory
	if err != nil || json.Unmarshal(text, &m) != nil || m.From != asked(e) || m.Validator == (fetch.Validator{}) {
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

// remember keeps a mark for the next update. It is a help, and never a reason
// to fail.
func (c Collection) remember(e Entry, got *fetched) {
	path, err := c.Cache.path(e.Name, markSuffix)
	if err != nil {
		return
	}
	if got.mark == (fetch.Validator{}) {
		_ = os.Remove(path)
		return
	}
	text, err := json.Marshal(memory{From: asked(e), SHA256: got.hash, Validator: got.mark})
	if err == nil {
		_ = place(path, e.cacheMode(), strings.NewReader(string(text)+"\n"))
	}
}

// download brings the index of a repository as a file that no one knows yet.
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
	f, err := c.Cache.part(e.Name)
	if err != nil {
		return nil, &CacheError{Dir: c.Cache.Dir, Err: bare(err)}
	}
	got := &fetched{path: f.Name()}
	hash := sha256.New()
	got.mark, err = c.HTTP.Get(ctx, e, address, have, io.MultiWriter(f, hash))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		got.discard()
		var late *TimeoutError
		if errors.As(context.Cause(ctx), &late) {
			return nil, late // whatever has come of it
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
