// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// serveKubelet serves the only part of a kubelet's API that is simulated: the logs of
// containers. It returns when ctx is done.
func serveKubelet(ctx context.Context, l net.Listener, c kubernetes.Interface) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		pod, err := c.CoreV1().Pods(r.PathValue("namespace")).Get(r.Context(), r.PathValue("pod"), metav1.GetOptions{})
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		query, container := r.URL.Query(), r.PathValue("container")
		previous, _ := strconv.ParseBool(query.Get("previous"))
		if err := hasLog(pod, container, previous); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		log := newPlayedLog(pod, container, containerLog(pod, container, previous))
		if query.Has("timestamps") || query.Has("sinceTime") {
			log.since, _ = time.Parse(time.RFC3339, query.Get("sinceTime"))
			log.timed, _ = strconv.ParseBool(query.Get("timestamps"))
		}
		follow, _ := strconv.ParseBool(query.Get("follow"))
		written := log.until(time.Now())
		for more := written; more != "" && (!follow || query.Has("tailLines")); {
			more = log.until(time.Now())
			written += more
		}
		_, _ = io.WriteString(w, head(tail(written, query.Get("tailLines")), query.Get("limitBytes")))
		if follow {
			_ = http.NewResponseController(w).Flush()
			ctx, cancel := context.WithCancel(r.Context())
			go func() { waitForEnd(ctx, c, pod, container); cancel() }()
			log.play(ctx, w)
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "kubelet ended:", err)
		}
	}()
	return nil
}

// hasLog returns an error if a container has no log: it has never run, or has no previous run.
func hasLog(pod *corev1.Pod, container string, previous bool) error {
	status := statusOf(pod, container)
	switch {
	case status == nil:
		return fmt.Errorf("container %q in pod %q is not available", container, pod.Name)
	case previous && status.LastTerminationState.Terminated == nil:
		return fmt.Errorf("previous terminated container %q in pod %q not found", container, pod.Name)
	case status.State.Waiting != nil && status.LastTerminationState.Terminated == nil:
		return fmt.Errorf("container %q in pod %q is waiting to start: %s", container, pod.Name, status.State.Waiting.Reason)
	}
	return nil
}

func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if list[i].Name == container {
				return &list[i]
			}
		}
	}
	return nil
}

// containerLog returns the log in the pod's annotation, or two lines with the name of the
// container and its state.
func containerLog(pod *corev1.Pod, container string, previous bool) string {
	notes := []string{"logs." + container, "logs"}
	if previous {
		notes = append([]string{"logs-previous." + container, "logs-previous"}, notes...)
	}
	for _, note := range notes {
		if text, ok := pod.Annotations[prefix+note]; ok {
			if text != "" && !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			return text
		}
	}
	text := fmt.Sprintf("container %s started\n", container)
	status := statusOf(pod, container)
	end := status.State.Terminated
	if previous || status.State.Waiting != nil {
		end = status.LastTerminationState.Terminated
	}
	if end != nil {
		text += fmt.Sprintf("container %s exited with code %d\n", container, end.ExitCode)
	}
	return text
}

// head returns the first bytes of text, or all if bytes is not a number.
func head(text, bytes string) string {
	n, err := strconv.Atoi(bytes)
	if err != nil || n < 0 || n >= len(text) {
		return text
	}
	return text[:n]
}

// tail returns the last lines of text, or all if lines is not a number.
func tail(text, lines string) string {
	n, err := strconv.Atoi(lines)
	if err != nil || n < 0 {
		return text
	}
	all := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if len(all) <= n {
		return text
	}
	if n == 0 {
		return ""
	}
	return strings.Join(all[len(all)-n:], "") + "\n"
}

// playedLog is a log whose lines are written one after the other from the start of the container
// on, as the annotations logs-every and logs-repeat say.
type playedLog struct {
	lines  []string
	repeat int
	begun  time.Time
	every  time.Duration
	next   int
	since  time.Time
	timed  bool
}

func newPlayedLog(pod *corev1.Pod, container, text string) *playedLog {
	l := &playedLog{repeat: 1, begun: pod.CreationTimestamp.Time, lines: strings.SplitAfter(text, "\n")}
	l.lines = l.lines[:len(l.lines)-1] // the text ends with a newline, or is empty
	status := statusOf(pod, container)
	switch {
	case status.State.Running != nil:
		l.begun = status.State.Running.StartedAt.Time
	case status.State.Terminated != nil && !status.State.Terminated.StartedAt.IsZero():
		l.begun = status.State.Terminated.StartedAt.Time
	}
	l.every, _ = time.ParseDuration(pod.Annotations[prefix+"logs-every"])
	if n, err := strconv.Atoi(pod.Annotations[prefix+"logs-repeat"]); err == nil {
		l.repeat = n
	}
	return l
}

// at returns the time of a line.
func (l *playedLog) at(line int) time.Time {
	return l.begun.Add(time.Duration(line) * max(l.every, time.Microsecond))
}

// maxWritten is the size from which the rest of what is written at once is left for the next call.
const maxWritten = 256 << 10

// until returns the lines that are written by now and were not returned before, or some of them.
func (l *playedLog) until(now time.Time) string {
	var out strings.Builder
	for ; out.Len() < maxWritten && l.next < len(l.lines)*l.repeat && (l.every <= 0 || !l.at(l.next).After(now)); l.next++ {
		if l.at(l.next).Before(l.since) {
			continue
		}
		if l.timed {
			out.WriteString(l.at(l.next).UTC().Format("2006-01-02T15:04:05.000000000Z "))
		}
		out.WriteString(l.lines[l.next%len(l.lines)])
	}
	return out.String()
}

// play writes the lines that follow, until ctx ends.
func (l *playedLog) play(ctx context.Context, w http.ResponseWriter) {
	for {
		for text := l.until(time.Now()); text != "" && ctx.Err() == nil; text = l.until(time.Now()) {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// waitForEnd returns when the container has ended or the pod is gone.
func waitForEnd(ctx context.Context, c kubernetes.Interface, pod *corev1.Pod, container string) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
		current, err := c.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil || current.UID != pod.UID || current.Status.Phase == corev1.PodSucceeded || current.Status.Phase == corev1.PodFailed {
			return
		}
		if s := statusOf(current, container); s != nil && s.State.Running == nil {
			return
		}
	}
}
