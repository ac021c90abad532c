// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/registry"
)

// addProvenance adds the provenance file of a, which was fetched from the URL from. If verify is
// set, it verifies the signature: a missing or invalid one is an error (CVE-2026-35205).
func (f *Finder) addProvenance(ctx context.Context, s source, from string, a *Archive, verify bool) error {
	if kept := f.Cache.Provenance(a.Digest); kept != nil && a.Provenance == nil {
		if !verify {
			a.Provenance = kept
			return nil
		}
		if signer, err := f.verify(s, a, kept); err == nil {
			a.Provenance, a.Signer = kept, signer
			return nil
		}
	}
	if a.Provenance == nil {
		text, err := f.provenance(ctx, s, from, a)
		switch {
		case err != nil && verify:
			return &ProvenanceError{Archive: a.Name, URL: a.URL, Missing: isMissing(err), Err: err}
		case err != nil:
			if ctx.Err() != nil {
				return err
			}
			if !isMissing(err) {
				f.Progress.Send(progress.Event{Kind: progress.Warning,
					Text: fmt.Sprintf("%s: its provenance file cannot be fetched: %v", a.Name, err)})
			}
			return nil
		}
		a.Provenance = text
	}
	if !verify {
		return nil
	}
	signer, err := f.verify(s, a, a.Provenance)
	if err != nil {
		return &ProvenanceError{Archive: a.Name, URL: a.URL, Err: err}
	}
	a.Signer = signer
	// If it cannot be stored, it is fetched again next time.
	_ = f.Cache.AddProvenance(a.Digest, a.Provenance)
	return nil
}

// verify verifies the signature over the archive. The archive must be signed as the chart
// version in the repository's index: neither the URL nor the index is signed, and the URL may
// lead to an old version or another chart.
func (f *Finder) verify(s source, a *Archive, provenance []byte) (signer string, err error) {
	if f.Verifier == nil {
		return "", errors.New("no verifier is configured")
	}
	content, err := file.Open(a.Path)
	if err != nil {
		return "", err
	}
	defer content.Close()
	name := a.Name
	if s.chart != "" {
		name = s.chart + "-" + s.version + ".tgz"
	}
	return f.Verifier.Verify(name, content, provenance)
}

// errUnsigned is returned if a registry has no provenance file of a chart.
var errUnsigned = errors.New("it was pushed without a provenance file")

// isMissing reports whether err means that there is no provenance file, in contrast to an
// error of fetching it.
func isMissing(err error) bool {
	var status *StatusError
	return errors.Is(err, errUnsigned) || errors.As(err, &status) &&
		(status.Code == http.StatusNotFound || status.Code == http.StatusGone)
}

// provenance fetches the provenance file of an archive.
func (f *Finder) provenance(ctx context.Context, s source, address string, a *Archive) ([]byte, error) {
	switch scheme := schemeOf(address); {
	case scheme == "oci": // it is a layer of the image
		pulled, err := f.pullProvenance(ctx, s, address, a)
		if err != nil {
			return nil, err
		}
		if pulled == nil {
			return nil, errUnsigned
		}
		return pulled, nil
	case scheme != "http" && scheme != "https" && !f.hasPlugin(scheme):
		return nil, f.schemeError(address, "http", "https", "oci")
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, &URLError{Scheme: schemeOf(address), Problem: "malformed"}
	}
	u.Path, u.RawPath = u.Path+provExt, ""
	var text bytes.Buffer
	if err := f.get(ctx, u.String(), s.home, s.access, a.Name+provExt, maxProvenance, &text); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// pullProvenance pulls the provenance file of an archive that is in the cache.
func (f *Finder) pullProvenance(ctx context.Context, s source, address string, a *Archive) ([]byte, error) {
	if f.Registry == nil {
		return nil, errors.New("no registry client is configured")
	}
	if a.Pushed != "" { // it was just pulled with its provenance file, if any
		return nil, nil
	}
	pulled, err := f.Registry.Pull(ctx, address, s.access.For(address, s.home), io.Discard, registry.PullOptions{
		Provenance: true,
		Have:       func(digest string) bool { return digest == a.Digest },
	})
	if err != nil {
		return nil, err
	}
	return pulled.Provenance, nil
}

// A ProvenanceError is returned if the signature of an archive cannot be verified.
type ProvenanceError struct {
	Archive, URL string
	Missing      bool  // there is no provenance file
	Err          error // of the download or of the [Verifier]
}

func (e *ProvenanceError) Error() string {
	if e.Missing {
		return fmt.Sprintf("%s cannot be verified: there is no provenance file for %s", e.Archive, e.URL)
	}
	var failed interface{ Archive() string }
	if errors.As(e.Err, &failed) && failed.Archive() == e.Archive { // the message includes it
		return e.Err.Error()
	}
	return fmt.Sprintf("%s cannot be verified: %v", e.Archive, e.Err)
}

func (e *ProvenanceError) Unwrap() error { return e.Err }
