// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/progress"
)

const (
	maxRedirects = 10
	maxTries     = 4
	maxPause     = 15 * time.Second // longest Retry-After that is honored
	step         = 256 << 10        // bytes between two progress reports
	goodRun      = 1 << 20          // bytes after which the number of tries starts again
)

// download is one call of [Client.Get].
type download struct {
	client   *Client
	timeouts timeouts
	request
	target *url.URL // address
	home   *url.URL
	w      io.Writer

	name     string // the URL without credentials
	done     int64  // bytes written to w
	reported int64  // value of done in the last report
	open     bool   // a report was sent
	etag     string // of the content written so far, "" if the server sent none
	total    int64
}

func (c *Client) newDownload(wanted request, w io.Writer) (*download, error) {
	target, err := parse(wanted.address)
	if err != nil {
		return nil, err
	}
	d := &download{client: c, timeouts: c.timeouts.withDefaults(), request: wanted, target: target, home: target, w: w,
		name: RedactURL(wanted.address)}
	if wanted.home != "" {
		if d.home, err = parse(wanted.home); err != nil {
			return nil, err
		}
	}
	if d.access.Username == "" && d.access.Password == "" && d.home.User != nil {
		d.access.Username = d.home.User.Username()
		d.access.Password, _ = d.home.User.Password()
	}
	if d.text == "" {
		d.text = textOf(target, d.packed)
	}
	return d, nil
}

// textOf returns the name of u in progress reports: the file name of an archive, host and
// path of other content, such as an index.yaml.
func textOf(u *url.URL, packed bool) string {
	if name := path.Base(u.Path); packed && name != "." && name != "/" {
		return name
	}
	return strings.TrimSuffix(u.Host+u.Path, "/")
}

// parse parses an http or https URL.
func parse(address string) (*url.URL, error) {
	scheme, _, ok := strings.Cut(address, "://")
	if !ok {
		scheme = "http"
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, &URLError{Scheme: scheme, Problem: "malformed"}
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, &URLError{URL: clean(u), Scheme: u.Scheme, Problem: "only http and https URLs can be fetched"}
	case u.Hostname() == "":
		return nil, &URLError{Scheme: scheme, Problem: "malformed: it has no host"}
	}
	return u, nil
}

// RedactURL returns a URL without credentials, for messages: without user, password, query and
// fragment. A query, which may contain a token, is replaced by "?...".
func RedactURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" {
		return "a malformed URL"
	}
	return clean(u)
}

func clean(u *url.URL) string {
	c := *u
	c.User, c.Fragment, c.RawFragment = nil, "", ""
	if c.RawQuery != "" {
		c.RawQuery = ""
		return c.String() + "?..."
	}
	return c.String()
}

// close reports the end of the download.
func (d *download) close() {
	if d.open {
		d.client.Progress.Send(progress.Event{Kind: progress.Fetched, Text: d.text, Done: d.done, Total: d.total})
	}
}

// run downloads and retries temporary failures.
func (d *download) run(ctx context.Context) error {
	pause := d.timeouts.pause
	for try := 1; ; try++ {
		before := d.done
		err := d.attempt(ctx)
		if err == nil || ctx.Err() != nil {
			return d.callerError(ctx, err)
		}
		var again *temporaryError
		if !errors.As(err, &again) || try >= maxTries || d.done > 0 && d.etag == "" {
			return d.callerError(ctx, err)
		}
		if d.done-before >= goodRun { // there was progress
			try, pause = 0, d.timeouts.pause
		}
		if linger.Sleep(ctx, max(pause, again.after)) != nil {
			return d.callerError(ctx, ctx.Err())
		}
		pause *= 2
	}
}

// temporaryError marks an error after which the request is repeated.
type temporaryError struct {
	err   error
	after time.Duration // the server's Retry-After
}

func (e *temporaryError) Error() string { return e.err.Error() }

func (e *temporaryError) Unwrap() error { return e.err }

// attempt sends one request, follows its redirects and receives the content.
func (d *download) attempt(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := d.watch(cancel)
	defer watch.stop()
	resp, err := d.ask(ctx, watch)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := d.accept(resp)
	if err != nil {
		return err
	}
	if err := d.receive(body, watch); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}
	return nil
}

// accept checks the status and header of a response and returns its decompressed body.
func (d *download) accept(resp *http.Response) (io.Reader, error) {
	switch {
	case resp.StatusCode == http.StatusPartialContent && d.done > 0:
		if !strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", d.done)) ||
			resp.Header.Get("ETag") != d.etag {
			return nil, d.brokenError(resp)
		}
		return resp.Body, nil
	case resp.StatusCode == http.StatusOK && d.done > 0: // the content has changed
		return nil, d.brokenError(resp)
	case resp.StatusCode == http.StatusNotModified && d.have != Validator{}:
		return nil, ErrNotModified
	case resp.StatusCode != http.StatusOK:
		return nil, d.statusError(resp)
	}
	if d.validator != nil {
		*d.validator = validatorOf(resp.Header)
	}
	d.total = max(resp.ContentLength, 0)
	if d.total > d.limit {
		return nil, &SizeError{URL: d.name, Limit: d.limit}
	}
	encoding := strings.ToLower(resp.Header.Get("Content-Encoding"))
	switch {
	case d.packed || encoding == "" || encoding == "identity":
		if tag := resp.Header.Get("ETag"); strings.HasPrefix(tag, `"`) {
			d.etag = tag
		}
		return resp.Body, nil
	case encoding == "gzip" || encoding == "x-gzip":
		d.total = 0
		return &unpacker{packed: resp.Body}, nil
	}
	return nil, &EncodingError{URL: d.name, Encoding: encoding}
}

// brokenError returns the error for a download that was interrupted and cannot be resumed.
func (d *download) brokenError(resp *http.Response) error {
	return &UnreachableError{URL: d.name, Host: resp.Request.URL.Host, Done: d.done, Err: io.ErrUnexpectedEOF}
}

// statusError returns the error for a status other than 200.
func (d *download) statusError(resp *http.Response) error {
	_, _, identified := resp.Request.BasicAuth()
	err := &StatusError{URL: d.name, Host: resp.Request.URL.Host, Code: resp.StatusCode, Identified: identified}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		after, _ := linger.RetryAfter(resp.Header.Get("Retry-After"))
		if after > maxPause {
			return err
		}
		return &temporaryError{err, after}
	}
	return err
}

// receive copies the body to w.
func (d *download) receive(body io.Reader, watch *watch) error {
	buf := make([]byte, 64<<10)
	d.report(0)
	for {
		n, err := body.Read(buf)
		watch.received(n)
		if d.done+int64(n) > d.limit {
			return &SizeError{URL: d.name, Limit: d.limit}
		}
		if n > 0 {
			if _, err := d.w.Write(buf[:n]); err != nil {
				return err
			}
			d.done += int64(n)
			d.report(step)
		}
		if err == io.EOF {
			return nil
		}
		if encoding, ok := errors.AsType[*EncodingError](err); ok {
			return &EncodingError{URL: d.name, Encoding: encoding.Encoding, Err: encoding.Err}
		}
		if err != nil {
			return markTemporary(err, &UnreachableError{URL: d.name, Host: d.target.Host, Done: d.done, Err: err})
		}
	}
}

// markTemporary returns err, marked as temporary if its cause is a broken connection.
func markTemporary(cause, response error) error {
	for _, broken := range []error{io.ErrUnexpectedEOF, io.EOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(cause, broken) {
			return &temporaryError{err: response}
		}
	}
	return response
}

// report sends a progress report if at least step bytes have arrived since the last one.
func (d *download) report(step int64) {
	if d.done-d.reported < step {
		return
	}
	d.reported, d.open = d.done, true
	d.client.Progress.Send(progress.Event{Kind: progress.Download, Text: d.text, Done: d.done, Total: d.total})
}

// watch cancels a request if its server stalls.
type watch struct {
	d      *download
	cancel context.CancelCauseFunc
	timer  *time.Timer

	mu    sync.Mutex
	start time.Time
	got   int64
}

func (d *download) watch(cancel context.CancelCauseFunc) *watch {
	w := &watch{d: d, cancel: cancel, start: time.Now()}
	w.timer = time.AfterFunc(d.timeouts.idle, func() {
		cancel(&StalledError{URL: d.name, Idle: d.timeouts.idle})
	})
	return w
}

func (w *watch) stop() { w.timer.Stop() }

// received counts n bytes and restarts the idle timeout. A slow trickle of bytes does not
// time out; it fails because of the minimum rate.
func (w *watch) received(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got += int64(n)
	p := w.d.timeouts
	took := time.Since(w.start) - p.grace
	if took > 0 && float64(w.got) < took.Seconds()*float64(p.pace) {
		w.cancel(&StalledError{URL: w.d.name, Done: w.got})
		return
	}
	w.timer.Reset(p.idle)
}
