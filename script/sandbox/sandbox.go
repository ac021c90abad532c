// SPDX-License-Identifier: Apache-2.0

// Package sandbox runs the scripts of charts in a confined process. [Start] starts the
// process, from helm; [Enter] is what the process runs, on the other side of two pipes.
//
//	p, err := sandbox.Start(ctx, "", wire.DefaultLimits())
//	...
//	defer p.Kill()
//	conn := wire.NewConn(p, p)
//
// The package has no part in the protocol on those pipes: it does not know charts, Lua or
// events.
//
// The process is helm's own binary, started again under the name [ChildName].
// It has no environment, an empty working directory that is already removed, and no open
// files but three pipes. Before it compiles a script it confines itself irrevocably. What
// enforces which limit:
//
//	                              Linux            macOS         Windows    elsewhere
//	memory                        RLIMIT_DATA,     watchdog      job,       watchdog
//	                              watchdog                       watchdog
//	CPU time                      RLIMIT_CPU,      RLIMIT_CPU,   job,       RLIMIT_CPU,
//	                              watchdog         watchdog      watchdog   watchdog
//	depth of the Go stack         everywhere: debug.SetMaxStack
//	core dumps                    RLIMIT_CORE 0    the same      none       the same
//	no files                      seccomp,         no new        (nothing)  no new
//	                              Landlock, no     descriptors              descriptors
//	                              new descriptors
//	no network                    seccomp,         no new        (nothing)  no new
//	                              Landlock         descriptors              descriptors
//	no other programs             seccomp,         RLIMIT_NPROC  job        RLIMIT_NPROC
//	                              Landlock         0                        0
//	no signals to others          seccomp          (nothing)     (nothing)  (nothing)
//	exits with helm               watchdog, pipe   the same      job, pipe  watchdog, pipe
//	no Ctrl-C; helm kills it      a process group  the same      a process  a process group
//	and what it started           of its own                     group, job of its own
//
// Files, network and programs are closed unless io or os was granted. With one of them the
// process has the user's access to files, starts in the user's working directory, and may
// start programs. TCP stays closed on Linux (also for those programs) unless network was
// granted too. The permission network alone opens nothing in the process: helm makes the
// requests and passes the responses. Programs that are started inherit the limits, each for
// itself, and on Linux gain no privileges (no sudo) while TCP is closed. They end with the
// process unless they leave its process group (setsid), which nothing prevents. A script
// with access to files can also write to the pipes (/proc/self/fd): the permission io
// amounts to the user's own permissions, for every chart of the tree.
//
// seccomp is used on amd64 and arm64. seccomp and Landlock are best effort: on a kernel
// without one of them, the other remains. Where nothing of the system protects files,
// scripts are kept from them by an engine that has no function to open one.
package sandbox

// ChildName is the argv[0] with which helm starts itself to run scripts.
const ChildName = "helm-chart-scripts"

// Exit codes of a child that the watchdog ended. Go uses 2 for crashes.
const (
	exitMemory     = 91
	exitCPU        = 92
	exitParentDied = 93
)

// The names of limits in the protocol.
const (
	limitCPU    = "cpu"
	limitMemory = "memory"
	limitStack  = "stack"
)

// maxStack bounds the stack of a goroutine: endlessly recursive metamethods overflow Go's
// stack, which cannot be recovered from.
const maxStack = 64 << 20

// The memory that the process may use beyond the scripts' limit: as Go counts it, and as the
// system does, which includes the whole stacks of threads (8 MiB each, with cgo).
const (
	ownMemory    = 96 << 20
	systemMemory = 128 << 20
)
