// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/Masterminds/semver/v3"
)

const (
	maxTags     = 200_000
	maxTagPages = 4_000
	maxSamePage = 16 // consecutive pages without a new first tag
)

// errLongList is returned if listing all tags takes too long. Each page has the usual
// timeout.
var errLongList = errors.New("aborted, because its list of tags does not end")

// Tags returns the versions of the chart ref, with + for _, in the registry's order. As in
// Helm, tags that are not full semantic versions ("latest", "1.2") are not included, and
// neither is "v1.2.3", unless all versions have a v, as cert-manager's (Helm then finds no
// newest version). If ref has a tag and the registry has it, the result includes it in
// any case.
func (c *Client) Tags(ctx context.Context, ref Ref) ([]string, error) {
	if err := chartRef(ref); err != nil {
		return nil, err
	}
	want := ref.Tag
	ref.Tag = ""
	// A single page may be slow, but not thousands of them.
	ctx, cancel := context.WithTimeoutCause(ctx, c.idleTimeout(), errLongList)
	defer cancel()
	ctx, alive, stop := withIdleTimeout(ctx, c.idleTimeout())
	defer stop()
	call := c.call(ref)
	r := request{method: http.MethodGet, path: "tags/list"}
	var versions, lettered []string
	seen := 0
	read := pages{first: map[string]bool{}, link: map[string]bool{}}
	for range maxTagPages {
		tags, next, err := call.tags(ctx, r)
		if err != nil {
			return nil, call.callerError(ctx, err)
		}
		alive(maxManifest) // pages do not count for the minimum rate
		for _, tag := range tags {
			version := VersionOf(tag)
			if !isTag(tag) { // invalid, and possibly large
				continue
			}
			if isVersion(version) || tag == want {
				versions = append(versions, version)
			} else if rest, ok := strings.CutPrefix(version, "v"); ok && isVersion(rest) {
				lettered = append(lettered, version)
			}
		}
		if seen += len(tags); next == nil {
			if len(versions) == 0 {
				versions = lettered
			}
			return versions, nil
		}
		if seen > maxTags {
			break
		}
		if read.isLoop(tags, next) {
			const circle = "its list of tags does not end: a page links to one that was read before"
			return nil, &ContentError{Ref: ref.errorName(), Problem: circle}
		}
		r.url = next
	}
	return nil, &SizeError{Ref: ref.errorName(), What: "it has", Limit: maxTags, Unit: "tags"}
}

// pages records the pages of a list of tags.
type pages struct {
	first map[string]bool // the first tags of the pages
	link  map[string]bool // the links of the pages
	same  int             // consecutive pages without a new first tag
}

// isLoop reports whether the list of tags is a loop: next was read before, or many
// consecutive pages are empty or begin like an earlier one.
func (p *pages) isLoop(tags []string, next *url.URL) bool {
	p.same++
	if len(tags) > 0 && !p.first[tags[0]] {
		p.same = 0
		p.first[tags[0]] = true
	}
	address := next.String()
	if p.link[address] || p.same == maxSamePage {
		return true
	}
	p.link[address] = true
	return false
}

func isVersion(text string) bool {
	_, err := semver.StrictNewVersion(text)
	return err == nil
}

// tags fetches a page of tags and returns the URL of the next page.
func (c *call) tags(ctx context.Context, r request) ([]string, *url.URL, error) {
	resp, err := c.do(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	var page struct{ Tags []string }
	data, err := c.readSmall(resp.Body, "a page of its tags is", maxManifest)
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(data, &page); err != nil {
		return nil, nil, &ContentError{Ref: c.ref.errorName(),
			Problem: fmt.Sprintf("its list of tags cannot be decoded: %v", err)}
	}
	return page.Tags, nextPage(resp, c.base()), nil
}

// nextPage returns the URL of the Link header, always on the same server.
func nextPage(resp *http.Response, base *url.URL) *url.URL {
	for _, link := range resp.Header.Values("Link") {
		target, params, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(link), "<"), ">")
		if !strings.Contains(params, `rel="next"`) && !strings.Contains(params, "rel=next") {
			continue
		}
		if u, err := resp.Request.URL.Parse(target); err == nil {
			u.Scheme, u.Host, u.User = base.Scheme, base.Host, nil
			return u
		}
	}
	return nil
}
