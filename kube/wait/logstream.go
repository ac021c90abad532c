// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/internal/lazy"
	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/internal/plural"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/progress"
)

// Limits of the logs of a wait. What is over them is left out, and the log says so.
const (
	maxStreams     = 24      // at the same time
	maxAllStreams  = 2000    // in a wait
	maxAllLines    = 10000   // of all logs
	maxStreamLines = 1000    // of one run of a container
	maxStreamBytes = 4 << 20 // read of one run of a container
	maxLineBytes   = 1 << 10
	linesPerSecond = 50 // of one container, on average
	burstLines     = 200
	// oldLines is how much of the log of a failing pod is shown that is not new.
	oldLines = 20
)

// streamKey is one run of a container.
type streamKey struct {
	uid, container string
	run            int // the number of restarts before it
}

// stream is the log of one run of a container.
type stream struct {
	*watcher
	path   string
	query  url.Values
	from   string // the pod and the container, for the user
	target *api.Target
	cancel context.CancelFunc
	// read is the time of the last data, in nanoseconds; ended is set after the last line.
	read  atomic.Int64
	ended atomic.Bool

	last   time.Time // of the last line
	lines  int
	bytes  int
	left   int // lines that were left out since the last one that was reported
	tokens float64
	filled time.Time
	dry    bool // no line is shown until there are tokens for a second
}

// follow starts to report the log of a container, if it has one and is not followed yet. elsewhere
// is set if the pod is not in the namespace of the wait.
func (o *watcher) follow(t *api.Target, k *knownPod, s api.ContainerStatus, elsewhere bool) {
	if s.State.Terminated == nil && s.State.Running == nil && s.LastState.Terminated == nil {
		return // it has not run
	}
	pod := k.Metadata.Name
	key := streamKey{k.Metadata.UID, s.Name, s.RestartCount}
	o.mu.Lock()
	defer o.mu.Unlock()
	full := len(o.streams) >= maxAllStreams || o.active >= maxStreams || o.session.isFull()
	if o.closed || o.streams[key] != nil || full {
		return // if there are too many, the next change of the pod tries again
	}
	l := &stream{watcher: o, from: pod, target: t, tokens: burstLines, filled: time.Now(),
		path:  api.PodCollection(t.Namespace).Resource.Path(t.Namespace, pod) + "/log",
		query: url.Values{"container": {s.Name}, "follow": {"true"}, "timestamps": {"true"}}}
	if len(k.Containers()) > 1 {
		l.from += " " + s.Name
	}
	if elsewhere {
		l.from = t.Namespace + "/" + l.from
	}
	last, seen := o.session.last(key)
	switch {
	case seen && last.IsZero():
		return // without times of its lines it would be shown again from its beginning
	case seen:
		l.resume(last)
	case !k.isNew:
		l.query.Set("tailLines", strconv.Itoa(oldLines))
	}
	l.read.Store(time.Now().UnixNano())
	o.streams[key] = l
	o.active++
	ctx, cancel := context.WithCancel(o.base)
	l.cancel = cancel
	o.group.Go(func() {
		defer cancel()
		l.run(ctx)
		if l.bytes > 0 || seen {
			o.session.setLast(key, l.last)
		}
		o.mu.Lock()
		o.active--
		o.mu.Unlock()
		l.ended.Store(true)
	})
}

// release ends the logs of an object that is ready, after a time for what its containers have
// written before.
func (o *watcher) release(t *api.Target) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.streams {
		if l.target == t && !l.ended.Load() {
			time.AfterFunc(readyTime, l.cancel)
		}
	}
}

// drain waits until all logs have ended, or nothing has come for a short time.
func (o *watcher) drain() {
	begun := time.Now()
	for time.Since(begun) < drainTime && o.base.Err() == nil {
		waits, last := false, begun.UnixNano()
		o.mu.Lock()
		for _, l := range o.streams {
			waits, last = waits || !l.ended.Load(), max(last, l.read.Load())
		}
		o.mu.Unlock()
		if !waits || time.Now().UnixNano()-last > int64(drainIdle) {
			return
		}
		_ = linger.Sleep(o.base, drainIdle/10) // the loop ends with the context
	}
}

// errFull ends a log of which enough was shown.
var errFull = errors.New("the log has reached its limit")

// run reads the log until the container ends, the limit is reached or ctx is done. A connection
// that is lost is made again, from the last line on.
func (l *stream) run(ctx context.Context) {
	var trouble outage
	for ctx.Err() == nil {
		before := l.last
		err := l.readAll(ctx)
		l.sayLeft()
		switch {
		case ctx.Err() != nil, errors.Is(err, errFull), apierrors.IsNotFound(err):
			return
		case unavailable(err):
			l.sayOnce("logs are not shown: " + shortLine(err.Error()))
			return
		case err == nil && (l.last.IsZero() || !l.lasts(ctx)):
			return
		case err == nil:
			err = trouble.backOff(ctx)
		default:
			if l.last.After(before) {
				trouble = outage{}
			}
			if l.last.IsZero() && l.bytes > 0 {
				return // without times of its lines it would be shown again from its beginning
			}
			err = trouble.retry(ctx, asTemporary(err))
		}
		if err != nil {
			l.failedToWatch(ctx, "the log of "+l.from+" cannot be read any further", err)
			return
		}
		l.resume(l.last)
	}
}

// resume makes the next request begin after the line of the time last, if that is known.
func (l *stream) resume(last time.Time) {
	if l.last = last; !last.IsZero() {
		l.query.Del("tailLines")
		l.query.Set("sinceTime", last.UTC().Format(time.RFC3339))
	}
}

// asTemporary returns err as an [*kube.UnreachableError] if it is of a connection.
func asTemporary(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return err
	}
	return &kube.UnreachableError{Err: err}
}

// lasts reports whether the container still runs, so that its log has more to come.
func (l *stream) lasts(ctx context.Context) bool {
	pods, err := l.client.api.Pods(ctx, l.target.Namespace, api.ByName(l.pod()))
	if err != nil || len(pods) != 1 {
		return false
	}
	for _, s := range pods[0].Containers() {
		if key := (streamKey{pods[0].Metadata.UID, s.Name, s.RestartCount}); s.State.Running != nil {
			l.mu.Lock()
			same := l.streams[key] == l
			l.mu.Unlock()
			if same {
				return true
			}
		}
	}
	return false
}

// pod returns the name of the pod.
func (l *stream) pod() string {
	parts := strings.Split(l.path, "/")
	return parts[len(parts)-2]
}

// readAll makes one request and reports its lines.
func (l *stream) readAll(ctx context.Context) error {
	resp, err := l.client.api.Stream(ctx, http.MethodGet, l.path, l.query, http.Header{"Accept": {"text/plain, */*"}}, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	in := bufio.NewReaderSize(resp.Body, 4<<10)
	var line []byte
	for {
		chunk, err := in.ReadSlice('\n')
		l.read.Store(time.Now().UnixNano())
		l.bytes += len(chunk)
		line = append(line, chunk[:min(len(chunk), maxTimestamp+4*maxLineBytes-len(line))]...)
		if errors.Is(err, bufio.ErrBufferFull) && l.bytes < maxStreamBytes {
			continue
		}
		if len(line) > 0 {
			if err := l.add(line); err != nil {
				return err
			}
			line = line[:0]
		}
		switch {
		case l.bytes >= maxStreamBytes:
			return l.fill(fmt.Sprintf("%d MiB were read", maxStreamBytes>>20))
		case err == io.EOF:
			return nil
		case err != nil:
			return l.client.api.ReadError(ctx, err)
		}
	}
}

// maxTimestamp is the maximum length of the time before a line, with the blank after it.
const maxTimestamp = len(time.RFC3339Nano) + 1

// add reports a line, if it is to be shown and is within the limits.
func (l *stream) add(line []byte) error {
	if stamp, rest, ok := bytes.Cut(line, []byte(" ")); ok && len(stamp) <= maxTimestamp {
		if at, err := time.Parse(time.RFC3339Nano, string(stamp)); err == nil {
			if !at.After(l.last) {
				return nil // seen before the connection was lost
			}
			l.last, line = at, rest
		}
	}
	text := cleanLine(string(line))
	if !l.shows(text) {
		return nil
	}
	if !l.take(time.Now()) {
		l.left++
		return nil
	}
	l.sayLeft()
	if l.lines++; l.lines > maxStreamLines {
		return l.fill(fmt.Sprintf("%d lines were shown", maxStreamLines))
	}
	if !l.session.count() {
		l.sayOnce(fmt.Sprintf("no more logs are shown: %d lines were", maxAllLines))
		return errFull
	}
	l.send(text)
	return nil
}

// fill says that the rest of the log is not shown, and returns errFull.
func (l *stream) fill(why string) error {
	l.sayLeft()
	l.send(fmt.Sprintf("(the rest is left out, because %s: kubectl logs -n %s %s)", why, l.target.Namespace, l.pod()))
	return errFull
}

// take reports whether a line is within the rate.
func (l *stream) take(now time.Time) bool {
	l.tokens = min(l.tokens+linesPerSecond*now.Sub(l.filled).Seconds(), burstLines)
	l.filled = now
	// What is over the rate is left out a second at a time, not between any two lines.
	l.dry = l.tokens < 1 || l.dry && l.tokens < linesPerSecond
	if l.dry {
		return false
	}
	l.tokens--
	return true
}

// sayLeft says how many lines were left out.
func (l *stream) sayLeft() {
	if l.left > 0 {
		l.send(fmt.Sprintf("(%s left out: more than %d a second)", plural.Count(l.left, "line"), linesPerSecond))
		l.left = 0
	}
}

func (l *stream) send(text string) {
	l.report.Send(progress.Event{Kind: progress.Log, Object: l.from, Text: text})
}

// colour is a sequence that changes the colour of a terminal.
var colour = lazy.Regexp(`\x1b\[[0-9;:]*m`)

// cleanLine returns a line of a log without its end, colours and what a carriage return has
// overwritten, and without what is too long.
func cleanLine(line string) string {
	line = colour().ReplaceAllLiteralString(strings.TrimRight(line, "\r\n"), "")
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	}
	return strings.ToValidUTF8(truncate.Bytes(line, maxLineBytes, "…"), "\uFFFD")
}
