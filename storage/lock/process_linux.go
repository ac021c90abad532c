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

// thisProcess returns this process, with only the PID if /proc is not available.
func thisProcess() process {
	p := process{PID: os.Getpid()}
	// The /proc of another PID namespace shows other processes.
	if link, err := os.Readlink("/proc/self"); err != nil || link != strconv.Itoa(p.PID) {
		return p
	}
	start, state := lookAt(p.PID)
	if machine := machine(); state != 0 && machine != "" {
		p.Machine, p.Start = machine, start
	}
	return p
}

// machine identifies the boot of the machine and the PID namespace. It includes the host name,
// because clones of a running virtual machine have the rest in common.
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

// gone reports whether the process ran on this machine and has ended. It returns false if that
// cannot be determined.
func (p process) gone() bool {
	here := thisProcess()
	if p.Machine == "" || p.Machine != here.Machine || p.PID <= 0 || p.Start == "" {
		return false
	}
	// /proc may hide other users' processes; kill does not.
	if syscall.Kill(p.PID, 0) == syscall.ESRCH {
		return true
	}
	start, state := lookAt(p.PID)
	switch state {
	case 0: // hidden
		return false
	case 'Z', 'X': // dead, but not reaped
		return start == p.Start
	}
	return start != p.Start
}

// lookAt reads the start time and the state of a process from /proc. The state is 0 if it
// cannot be read.
func lookAt(pid int) (start string, state byte) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", 0
	}
	return parseStat(text)
}

// parseStat parses /proc/PID/stat (see proc(5)). The second field is the program's name in
// parentheses, which may contain spaces and parentheses.
func parseStat(text []byte) (start string, state byte) {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return "", 0
	}
	fields := bytes.Fields(text[end+1:])
	const stateField, startField = 3, 22 // counting from 1
	if len(fields) <= startField-stateField || len(fields[0]) != 1 {
		return "", 0
	}
	return string(fields[startField-stateField]), fields[0][0]
}
