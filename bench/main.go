// SPDX-License-Identifier: Apache-2.0

// Command bench measures whole commands of our binary and Helm's side by side:
// medians of several runs, and ratios.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// peerModule is what we are measured against.
const peerModule = "helm.sh/helm/v4/cmd/helm@v4.3.1"

// workload is one thing to measure.
type workload struct {
	name string
	// args is the command; before and after, which may be nil, are run around
	// it and not measured.
	args          []string
	before, after []string
	needsCluster  bool
}

// sample is one run.
type sample struct {
	wall   time.Duration
	memory int64 // bytes
}

func main() {
	n := flag.Int("n", 5, "runs of each command")
	match := flag.String("run", "", "measure only what matches this regular expression")
	flag.Parse()
	if err := bench(*n, *match); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(n int, match string) error {
	re, err := regexp.Compile(match)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	ours, err := filepath.Abs("../bin/helm")
	if err != nil {
		return err
	}
	helm, err := peer()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "moonhelm-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	list, err := workloads(dir, helm)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "work\tours\tHelm\tratio\tours MB\tHelm MB\tratio")
	for _, l := range list {
		if !re.MatchString(l.name) {
			continue
		}
		if l.needsCluster && kubeconfig() == "" {
			fmt.Fprintf(w, "%s\t(no cluster: see README.md)\n", l.name)
			continue
		}
		a, b, err := compare(l, ours, helm, dir, n)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%d\t%d\t%.2f\n", l.name,
			a.wall.Round(100*time.Microsecond), b.wall.Round(100*time.Microsecond), float64(a.wall)/float64(b.wall),
			a.memory>>20, b.memory>>20, float64(a.memory)/float64(b.memory))
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return w.Flush()
}

// compare runs both binaries in turn, so that what the machine does meanwhile
// meets both.
func compare(l workload, ours, helm, dir string, n int) (a, b sample, err error) {
	var as, bs []sample
	for range n {
		for _, side := range []struct {
			bin  string
			into *[]sample
		}{{ours, &as}, {helm, &bs}} {
			s, err := measure(l, side.bin, dir)
			if err != nil {
				return a, b, err
			}
			*side.into = append(*side.into, s)
		}
	}
	return median(as), median(bs), nil
}

func measure(l workload, bin, dir string) (sample, error) {
	if err := quiet(bin, dir, l.before); err != nil {
		return sample{}, err
	}
	cmd := command(bin, dir, l.args)
	start := time.Now()
	err := cmd.Run()
	s := sample{wall: time.Since(start)}
	if err != nil {
		return s, fmt.Errorf("%s %s: %w", bin, strings.Join(l.args, " "), err)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.memory = usage.Maxrss << 10 // Linux counts kilobytes
	}
	return s, quiet(bin, dir, l.after)
}

func quiet(bin, dir string, args []string) error {
	if args == nil {
		return nil
	}
	if out, err := command(bin, dir, args).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", bin, strings.Join(args, " "), err, out)
	}
	return nil
}

func command(bin, dir string, args []string) *exec.Cmd {
	cmd := exec.Command(bin, args...)
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + kubeconfig()}
	return cmd
}

func kubeconfig() string {
	if k := os.Getenv("MOONHELM_TEST_KUBECONFIG"); k != "" {
		return k
	}
	return os.Getenv("KUBECONFIG")
}

func median(s []sample) sample {
	walls := make([]time.Duration, len(s))
	memories := make([]int64, len(s))
	for i := range s {
		walls[i], memories[i] = s[i].wall, s[i].memory
	}
	sort.Slice(walls, func(i, j int) bool { return walls[i] < walls[j] })
	sort.Slice(memories, func(i, j int) bool { return memories[i] < memories[j] })
	return sample{walls[len(s)/2], memories[len(s)/2]}
}

// peer is Helm's binary, built once per machine and kept in the cache folder.
func peer() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "moonhelm", "peers", "v4.3.1")
	bin := filepath.Join(dir, "helm")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	fmt.Fprintln(os.Stderr, "building Helm 4.3.1 to compare with; this takes two minutes or so")
	build := exec.Command("go", "install", peerModule)
	build.Env = append(os.Environ(), "GOBIN="+dir)
	build.Dir = os.TempDir() // outside of any module
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", peerModule, err, out)
	}
	return bin, nil
}
