// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Windows lets no one remove a directory that a process works in.
const removeEarly = false

const rootFolder = `C:\`

// family is a process and all that it starts: a job that ends with its last
// handle, which is helm's, so that the end of helm is its end too.
type family struct{ job windows.Handle }

func (f *family) start(cmd *exec.Cmd) error {
	// In a process group of its own Ctrl-C does not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	// A system that refuses the job still ends the child with the pipe. The
	// child waits for its first message, so nothing can have been started yet.
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false,
		uint32(cmd.Process.Pid))
	if err == nil {
		_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
			uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
		if err == nil {
			err = windows.AssignProcessToJobObject(job, process)
		}
		_ = windows.CloseHandle(process)
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return nil
	}
	f.job = job
	return nil
}

func (f *family) kill(p *os.Process) error {
	if f.job != 0 {
		return windows.TerminateJobObject(f.job, 1)
	}
	_ = p.Kill() // an error says that it has ended
	return nil
}

// close gives the job back. kill must not be called after it.
func (f *family) close() {
	if f.job != 0 {
		_ = windows.CloseHandle(f.job)
	}
}

// await is not needed: a job has no number that another could get.
func (f *family) await(*os.Process) bool { return false }

// peakMemory is told by the exit code of the child alone.
func peakMemory(*os.ProcessState) int64 { return 0 }
