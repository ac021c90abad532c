// SPDX-License-Identifier: Apache-2.0

// Package sandbox is the process around the scripts of charts: [Start] starts
// it, on the side of helm, and [Enter] is its life, on the other side of two
// pipes. What it runs is told to it; what the two sides say to each other is
// none of its business: it knows neither charts nor Lua nor events.
//
// The process is helm's own binary, started again under the name [ChildName].
// It gets no environment, a working directory that is empty and already
// removed, three pipes and nothing else that is open. Before it compiles a
// script it confines itself, for good. What holds where:
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
//	ends with helm                watchdog, pipe   the same      job, pipe  watchdog, pipe
//	Ctrl-C is helm's, which       a process group  the same      a process  a process group
//	kills all that was started    of its own                     group, job of its own
//
// The walls against files, network and programs stand where neither io nor os
// was granted; with one of them the process sees the file system as the user
// does, from the user's own working directory, and may start programs. TCP
// stays closed on Linux (for programs that it starts, too) unless network was
// granted as well. The permission network alone opens nothing: helm makes those
// requests itself and hands over the answers. Programs that are started inherit
// the limits, each for itself, and on Linux gain no privileges (no sudo) while
// TCP is closed; they end with the process, unless they leave its process group
// (setsid), which nothing keeps them from. Writing to the pipes is open to who
// may use files (/proc/self/fd): io is as much as the user's own permissions, in the
// name of every chart of the tree.
//
// seccomp is there for amd64 and arm64. It and Landlock are best effort: a
// kernel without one of them runs the scripts behind the other. Where nothing
// stands in the way of files, what keeps scripts from them is that their engine
// offers no function that opens one.
package sandbox

// ChildName is the name, in argv[0], under which a binary runs scripts instead
// of doing what it otherwise does.
const ChildName = "helm-chart-scripts"

// Exit codes of the child: it ended itself because a limit was reached. Go
// itself uses 2.
const (
	exitMemory = 91
	exitCPU    = 92
	exitOrphan = 93
)

// The names of limits, as the protocol knows them.
const (
	limitCPU    = "cpu"
	limitMemory = "memory"
	limitStack  = "stack"
)

// maxStack bounds the stack of one goroutine: metamethods that call themselves
// without end overflow Go's stack, which nothing in the process can catch.
const maxStack = 64 << 20

// What the process may use over the scripts' limit on memory: by its own
// account, and by the system's, where stacks of threads count in full that Go
// does not know of (8 MiB each, with cgo).
const (
	ownMemory    = 96 << 20
	systemMemory = 128 << 20
)
