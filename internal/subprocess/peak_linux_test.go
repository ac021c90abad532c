// SPDX-License-Identifier: Apache-2.0

//go:build !race

package subprocess_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// watchPeak returns a function that reports the maximum memory of the newest subprocess.
func watchPeak(*conversation) func() int64 {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	for _, task := range tasks() {
		more, _ := os.ReadFile("/proc/self/task/" + task + "/children")
		children = append(children, more...)
	}
	most := 0
	for _, f := range bytes.Fields(children) {
		if n, err := strconv.Atoi(string(f)); err == nil {
			most = max(most, n)
		}
	}
	status := fmt.Sprintf("/proc/%d/status", most)
	stop, peak := make(chan bool), make(chan int64)
	go func() {
		var highest int64
		for {
			text, _ := os.ReadFile(status)
			if _, rest, found := bytes.Cut(text, []byte("VmHWM:")); found {
				n, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
				highest = max(highest, n<<10)
			}
			select {
			case <-stop:
				peak <- highest
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(stop)
		return <-peak
	}
}

func tasks() []string {
	entries, _ := os.ReadDir("/proc/self/task")
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
