// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// takePipes keeps the protocol's handles, which are not inheritable, and makes
// null what the system knows as standard input and output.
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

// closeInherited has nothing to do: a process inherits what it is given by name.
func closeInherited() {}

// forbidCores has nothing to do.
func forbidCores() {}

// wall puts the process into a job with limits, inside the one that helm made.
// The job's handle stays open for as long as the process is there.
func wall(w walls) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("make a job: %w", err)
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	basic := &info.BasicLimitInformation
	if memory := w.limits.Memory; memory > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY
		info.ProcessMemoryLimit = uintptr(memory) + uintptr(mapped(memorySamples())) + systemMemory
	}
	if cpu := cpuLimit(w.limits); cpu > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_PROCESS_TIME
		basic.PerProcessUserTimeLimit = int64((cpu + time.Second) / 100) // of 100 ns
	}
	if !w.free {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		basic.ActiveProcessLimit = 1
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, windows.CurrentProcess())
	}
	if err != nil {
		return fmt.Errorf("limit the process with a job: %w", err)
	}
	return nil
}

// parent is no one: the job ends with helm, and the number would never change.
func parent() int { return 0 }

// endFamily has nothing to do: the end of helm closes the job.
func endFamily() {}

// cpuUsed is the CPU time of this process.
func cpuUsed() time.Duration {
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user); err != nil {
		return 0
	}
	ticks := func(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	return time.Duration(100 * (ticks(kernel) + ticks(user)))
}
