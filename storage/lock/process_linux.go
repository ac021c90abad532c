// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strconv"
	"syscall"
)

// thisProcess is the process that runs this, with no more than its number where
// /proc does not tell.
func thisProcess() process {
	p := process{PID: os.Getpid()}
	// A /proc of another container would show other processes.
	if link, err := os.Readlink("/proc/self"); err != nil || link != strconv.Itoa(p.PID) {
		return p
	}
	start, state := lookAt(p.PID)
	if machine := machine(); state != 0 && machine != "" {
		p.Machine, p.Start = machine, start
	}
	return p
}

// machine stands for this start of this machine and this name space of
// processes. The host's name is in it because machines that are copied while
// they run have the rest in common.
func machine() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || len(bytes.TrimSpace(boot)) == 0 {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(string(bytes.TrimSpace(boot)) + "\n" + space + "\n" + host))
	return hex.EncodeToString(sum[:12])
}

// gone reports that the process ran on this machine and is not there any more.
// False is not a promise that it is.
func (p process) gone() bool {
	here := thisProcess()
	if p.Machine == "" || p.Machine != here.Machine || p.PID <= 0 || p.Start == "" {
		return false
	}
	// Other users' processes may be hidden in /proc, but not from this.
	if syscall.Kill(p.PID, 0) == syscall.ESRCH {
		return true
	}
	start, state := lookAt(p.PID)
	switch state {
	case 0: // hidden
		return false
	case 'Z', 'X': // dead, and no one has asked how it ended
		return start == p.Start
	}
	return start != p.Start
}

// lookAt reads from /proc when a process began, and its state, which is 0 where
// that cannot be read.
func lookAt(pid int) (start string, state byte) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", 0
	}
	return parseStat(text)
}

// parseStat reads the text of /proc/PID/stat (see proc(5)). The second field is
// the program's name in parentheses, which may hold spaces and parentheses.
func parseStat(text []byte) (start string, state byte) {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return "", 0
	}
	fields := bytes.Fields(text[end+1:])
	const stateField, startField = 3, 22 // counted from one, the name is the second
	if len(fields) <= startField-stateField || len(fields[0]) != 1 {
		return "", 0
	}
	return string(fields[startField-stateField]), fields[0][0]
}
