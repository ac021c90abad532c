// SPDX-License-Identifier: Apache-2.0

// Package fetch brings text from URLs. Sizes and times are bounded, and
// nothing but http and https is followed.
package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// MaxText is the largest text that [Text] accepts, in bytes.
const MaxText = 20 << 20

const timeout = 60 * time.Second

// IsURL tells whether location is an http or https URL rather than a path.
func IsURL(location string) bool {
	return strings.HasPrefix(location, "http://") || strings.HasPrefix(location, "https://")
}

// Text reads the document at an http or https URL. The error names the URL
// without its credentials.
func Text(ctx context.Context, location string) ([]byte, error) {
	u, err := url.Parse(location)
	if err != nil {
		// The text may hold a password, and nobody knows where.
		return nil, fmt.Errorf("fetch: the %s URL given is malformed", location[:strings.IndexByte(location+":", ':')])
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("fetch %s: only http and https URLs can be fetched", u.Redacted())
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", u.Redacted(), err)
	}
	req.Header.Set("User-Agent", "moonhelm")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if uerr, ok := err.(*url.Error); ok {
			err = uerr.Err
		}
		return nil, fmt.Errorf("fetch %s: %w", u.Redacted(), err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch %s: the server answered %s", u.Redacted(), resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, MaxText+1))
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", u.Redacted(), err)
	}
	if len(data) > MaxText {
		return nil, fmt.Errorf("fetch %s: larger than %d MiB", u.Redacted(), MaxText>>20)
	}
	return data, nil
}
