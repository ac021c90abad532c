// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// holder returns the process that holds the lock of the file at path according to
// proc_locks(5), or "" if it is unknown. A line of that file is
//
//	1: FLOCK  ADVISORY  WRITE 4711 fe:00:9994338 0 EOF
//
// with the process, and the device and inode of the file. A line with "->" after the number
// is of a waiting process.
func holder(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	list, err := os.ReadFile("/proc/locks")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || !strings.HasSuffix(f[5], fmt.Sprintf(":%d", stat.Ino)) {
			continue
		}
		name, err := os.ReadFile("/proc/" + f[4] + "/comm")
		if err != nil { // for example a process in another container
			return ""
		}
		return fmt.Sprintf("process %s (%s)", f[4], strings.TrimSpace(string(name)))
	}
	return ""
}
