// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// takePipes returns the protocol's handles, made not inheritable, and sets null as the
// system's standard input and output.
func takePipes(null *os.File) (in, out *os.File, err error) {
	in, out = os.Stdin, os.Stdout
	for _, which := range []uint32{windows.STD_INPUT_HANDLE, windows.STD_OUTPUT_HANDLE} {
		if err := windows.SetStdHandle(which, windows.Handle(null.Fd())); err != nil {
			return nil, nil, err
		}
	}
	for _, f := range []*os.File{in, out} {
		if err := windows.SetHandleInformation(windows.Handle(f.Fd()), windows.HANDLE_FLAG_INHERIT, 0); err != nil {
			return nil, nil, err
		}
	}
	return in, out, nil
}

// closeInherited does nothing: a process inherits only the handles that are named.
func closeInherited() {}

// disableCoreDumps does nothing.
func disableCoreDumps() {}

// applyConfinement puts the process into a job with limits, within the job that helm
// created. The job's handle stays open as long as the process runs.
func applyConfinement(c confinement) error {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	basic := &info.BasicLimitInformation
	if memory := c.limits.Memory; memory > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY
		info.ProcessMemoryLimit = uintptr(memory) + uintptr(mapped(memorySamples())) + systemMemory
	}
	if cpu := cpuLimit(c.limits); cpu > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_PROCESS_TIME
		basic.PerProcessUserTimeLimit = int64((cpu + time.Second) / 100) // of 100 ns
	}
	if !c.free {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		basic.ActiveProcessLimit = 1
	}
	if _, err := newJob(windows.CurrentProcess(), info); err != nil {
		return fmt.Errorf("limit the process with a job: %w", err)
	}
	return nil
}

// parent returns 0: the job ends with helm, and the parent's ID never changes.
func parent() int { return 0 }

// killGroup does nothing: the job is closed when helm exits.
func killGroup() {}

// cpuUsed returns the CPU time of this process.
func cpuUsed() time.Duration {
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user); err != nil {
		return 0
	}
	ticks := func(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	return time.Duration(100 * (ticks(kernel) + ticks(user)))
}
