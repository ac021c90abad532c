// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Windows does not allow to remove the working directory of a process.
const removeEarly = false

const rootDir = `C:\`

// firstProcessors is two: reading the protocol blocks a thread, which keeps its processor until
// Go's monitor takes it away, up to 10 ms later.
const firstProcessors = "2"

// group is the job of a process and the programs that it starts. Windows ends it when its
// last handle is closed, which is helm's.
type group struct{ job windows.Handle }

func (f *group) start(cmd *exec.Cmd) error {
	// In a process group of its own Ctrl-C does not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	// If the job cannot be created, the child still ends with its pipe. The child waits for
	// its first message, so it cannot have started programs yet.
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false,
		uint32(cmd.Process.Pid))
	if err != nil {
		return nil
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	f.job, _ = newJob(process, info)
	_ = windows.CloseHandle(process)
	return nil
}

// newJob puts a process into a new job with these limits. An error returns the handle 0.
func newJob(process windows.Handle, info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION) (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, process)
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

func (f *group) kill(p *os.Process) error {
	if f.job != 0 {
		return windows.TerminateJobObject(f.job, 1)
	}
	_ = p.Kill() // it fails if the process has ended
	return nil
}

// close closes the job. kill must not be called after it.
func (f *group) close() {
	if f.job != 0 {
		_ = windows.CloseHandle(f.job)
	}
}

// waitExited returns false: a job needs no process ID.
func (f *group) waitExited(*os.Process) bool { return false }

// peakMemory returns 0: the exit code names the limit.
func peakMemory(*os.ProcessState) int64 { return 0 }
