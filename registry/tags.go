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
	maxSamePage = 16 // pages in a row that begin as an earlier one did, or are empty
)

// errLongList is why a list of tags is given up that takes too long. One page may take
// as long as anything else.
var errLongList = errors.New("given up, because its list of tags does not come to an end")

// Tags are the versions of the chart at ref, with + for _, in the registry's
// order. As in Helm, tags that are not full semantic version ("latest", "1.2") are
// none, and neither is "v1.2.3", unless all versions are written so (cert-manager's
// are; Helm then knows of no newest one). If ref has a tag, it counts whatever it is,
// where the registry has it.
func (c *Client) Tags(ctx context.Context, ref Ref) ([]string, error) {
	if err := chartRef(ref); err != nil {
		return nil, err
	}
	asked := ref.Tag
	ref.Tag = ""
	// A page may take its time, and thousands of them may not.
	ctx, cancel := context.WithTimeoutCause(ctx, c.waiting(), errLongList)
	defer cancel()
	ctx, alive, stop := attentive(ctx, c.waiting())
	defer stop()
	call := c.call(ref)
	r := request{method: http.MethodGet, path: "tags/list"}
	var versions, lettered []string
	seen := 0
	read := pages{first: map[string]bool{}, link: map[string]bool{}}
	for range maxTagPages {
		tags, next, err := call.tags(ctx, r)
		if err != nil {
			return nil, call.explain(ctx, err)
		}
		alive(maxManifest) // pages are counted otherwise
		for _, tag := range tags {
			version := VersionOf(tag)
			if !isTag(tag) { // no registry can have it, and it may be large
				continue
			}
			if isVersion(version) || tag == asked {
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
		if read.again(tags, next) {
			const circle = "its list of tags does not come to an end: a page leads back to one that was read before"
			return nil, &ContentError{Ref: ref.told(), Problem: circle}
		}
		r.url = next
	}
	return nil, &SizeError{Ref: ref.told(), What: "it has", Limit: maxTags, Unit: "tags"}
}

// pages are the pages of a list of tags that were read.
type pages struct {
	first map[string]bool // the tags that they begin with
	link  map[string]bool // where they have led
	same  int             // how many in a row were nothing new
}

// again reports whether a page with tags, that leads to next, shows that the list goes
// in a circle: next was read before, or page after page is empty, or one read before
// under another address.
func (p *pages) again(tags []string, next *url.URL) bool {
	p.same++
	if len(tags) > 0 && !p.first[tags[0]] {
		p.same = 0
		p.first[tags[0]] = true
	}
	at := next.String()
	if p.link[at] || p.same == maxSamePage {
		return true
	}
	p.link[at] = true
	return false
}

func isVersion(text string) bool {
	_, err := semver.StrictNewVersion(text)
	return err == nil
}

// tags brings a page of tags, and tells where the next one is.
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
		return nil, nil, &ContentError{Ref: c.ref.told(), Problem: fmt.Sprintf("its list of tags cannot be read: %v", err)}
	}
	return page.Tags, nextPage(resp, c.base()), nil
}

// nextPage is where the Link header leads, on the same server whatever it says.
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
