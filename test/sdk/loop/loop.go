// SPDX-License-Identifier: Apache-2.0

// Package loop is a controller that embeds an SDK: it installs, upgrades and uninstalls
// releases and reports its memory. The programs ours and helm run it, each with only its own
// SDK.
package loop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"

	"golang.org/x/sync/errgroup"
)

// SDK implements the operations of the loop for the cluster and namespace of its [Settings].
type SDK interface {
	Install(ctx context.Context, name string, values map[string]any) error
	Upgrade(ctx context.Context, name string, values map[string]any) error
	Uninstall(ctx context.Context, name string) error
}

// Settings are the cluster, the namespace and the chart of the releases.
type Settings struct {
	Kubeconfig, Namespace string
	Chart                 string // directory
}

// Report is the memory of the program after a number of loops.
type Report struct {
	Loops      int
	Peak       int // maximum resident set size so far, in KiB
	Resident   int // resident set size in KiB after a garbage collection that returned free memory
	Anonymous  int // part of Resident that is not file-backed
	Heap       int // live heap in KiB
	Goroutines int
}

// Options are the options of the loop.
type Options struct {
	Loops, Every int
	Releases     int  // number of installed releases
	Workers      int  // number of concurrent operations
	Fresh        bool // connect for each operation, as controllers do
	Profile      string
}

// Main runs the loop with the options of the command line and prints a [Report] as a line of
// JSON after each -every loops and at the end.
//
// A loop installs a release, upgrades it, and uninstalls the one that is -releases older, so
// that there are always as many releases.
func Main(connect func(Settings) (SDK, error)) {
	var (
		s Settings
		o Options
	)
	flag.StringVar(&s.Kubeconfig, "kubeconfig", "", "`file` that says where the cluster is")
	flag.StringVar(&s.Namespace, "namespace", "default", "`namespace` of the releases")
	flag.StringVar(&s.Chart, "chart", "", "`directory` of the chart")
	flag.IntVar(&o.Loops, "loops", 100, "how many loops to run")
	flag.IntVar(&o.Releases, "releases", 100, "how many releases to keep")
	flag.IntVar(&o.Every, "every", 100, "loops between two reports")
	flag.IntVar(&o.Workers, "workers", 1, "how many loops run at the same time")
	flag.BoolVar(&o.Fresh, "fresh", false, "connect for each operation")
	flag.StringVar(&o.Profile, "profile", "", "`directory` for a heap profile with each report")
	flag.Parse()
	if err := run(context.Background(), connect, s, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, connect func(Settings) (SDK, error), s Settings, o Options) error {
	sdk, err := connect(s)
	if err != nil {
		return err
	}
	use := func() (SDK, error) { return sdk, nil }
	if o.Fresh {
		use = func() (SDK, error) { return connect(s) }
	}
	out := json.NewEncoder(os.Stdout)
	for from := 0; from < o.Loops; from += o.Every {
		to := min(from+o.Every, o.Loops)
		if err := together(o.Workers, from, to, func(i int) error { return live(ctx, use, i, o.Releases) }); err != nil {
			return err
		}
		r, err := measure(to)
		if err != nil {
			return err
		}
		if err := errors.Join(out.Encode(r), writeProfile(o.Profile, to)); err != nil {
			return err
		}
	}
	return together(o.Workers, max(0, o.Loops-o.Releases), o.Loops, func(i int) error { return uninstall(ctx, use, i) })
}

// together calls fn for each number less than to in several goroutines and returns the first
// error.
func together(workers, from, to int, fn func(i int) error) error {
	group := errgroup.Group{}
	group.SetLimit(workers)
	for i := from; i < to; i++ {
		group.Go(func() error { return fn(i) })
	}
	return group.Wait()
}

func name(i int) string { return fmt.Sprintf("app-%d", i) }

// live runs one loop.
func live(ctx context.Context, use func() (SDK, error), i, releases int) error {
	sdk, err := use()
	if err != nil {
		return err
	}
	if err := sdk.Install(ctx, name(i), map[string]any{"greeting": "hello"}); err != nil {
		return fmt.Errorf("loop %d: install: %w", i, err)
	}
	if sdk, err = use(); err != nil {
		return err
	}
	if err := sdk.Upgrade(ctx, name(i), map[string]any{"greeting": "good night"}); err != nil {
		return fmt.Errorf("loop %d: upgrade: %w", i, err)
	}
	if i < releases {
		return nil
	}
	return uninstall(ctx, use, i-releases)
}

func uninstall(ctx context.Context, use func() (SDK, error), i int) error {
	sdk, err := use()
	if err != nil {
		return err
	}
	if err := sdk.Uninstall(ctx, name(i)); err != nil {
		return fmt.Errorf("uninstall %s: %w", name(i), err)
	}
	return nil
}

func measure(loops int) (*Report, error) {
	r := &Report{Loops: loops, Goroutines: runtime.NumGoroutine()}
	var err error
	if r.Peak, err = status("VmHWM"); err != nil {
		return nil, err
	}
	runtime.GC()
	debug.FreeOSMemory() // frees what the first collection has finalized
	if r.Resident, err = status("VmRSS"); err != nil {
		return nil, err
	}
	if r.Anonymous, err = status("RssAnon"); err != nil {
		return nil, err
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.Heap = int(m.HeapAlloc >> 10)
	return r, nil
}

// status returns a field of /proc/self/status in KiB.
func status(field string) (int, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for scan := bufio.NewScanner(bytes.NewReader(text)); scan.Scan(); {
		if value, ok := bytes.CutPrefix(scan.Bytes(), []byte(field+":")); ok {
			return strconv.Atoi(string(bytes.TrimSpace(bytes.TrimSuffix(value, []byte("kB")))))
		}
	}
	return 0, fmt.Errorf("/proc/self/status: no %s", field)
}

func writeProfile(dir string, loops int) error {
	if dir == "" {
		return nil
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("heap-%d.pprof", loops)))
	if err != nil {
		return err
	}
	defer f.Close()
	return pprof.Lookup("heap").WriteTo(f, 0)
}
