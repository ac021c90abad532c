// SPDX-License-Identifier: Apache-2.0

// Command bench compares the time and memory of whole commands of Moonhelm and Helm: medians of
// several runs, and ratios.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/moonhelm/moonhelm/internal/peertest"
)

// workload is a command to measure.
type workload struct {
	name string
	// args are the command's arguments; before and after, which may be nil, run before and after it
	// and are not measured.
	args      []string
	own       []string // more arguments, which Helm does not have
	ownBefore []string // runs before each run of Moonhelm, and is not measured
	// theirs are the arguments of the other side if they are not args, and peer returns its program if that is
	// not Helm.
	theirs        []string
	peer          func() (string, error)
	before, after []string
	// setup and teardown run once for each binary, before and after all its runs.
	setup, teardown []string
	// begin and end are called once, before and after all workloads of a group.
	group        string
	begin, end   func() error
	needsCluster bool
	// alone measures Moonhelm only: Helm has no such command.
	alone bool
	// unchanged requires that Moonhelm writes no object of release bench.
	unchanged bool
}

// sample is the measurement of one run.
type sample struct {
	wall   time.Duration
	memory int64 // bytes
}

// measured makes this program run the command in its arguments, and write its time in nanoseconds
// and its maximum resident set size in bytes to file descriptor 3.
const measured = "MOONHELM_BENCH_MEASURED"

// sampled runs cmd in a new process of this program. On Linux the maximum resident set size of a
// process includes its parent's at the time of the fork, and this process is larger than the
// measured ones: the new one is small.
func sampled(cmd *exec.Cmd) (sample, error) {
	self, err := os.Executable()
	if err != nil {
		return sample{}, err
	}
	in, out, err := os.Pipe()
	if err != nil {
		return sample{}, err
	}
	defer in.Close()
	cmd.Path, cmd.Args = self, append([]string{self}, cmd.Args...)
	cmd.Env = append(cmd.Env, measured+"=1")
	cmd.ExtraFiles = []*os.File{out}
	err = errors.Join(cmd.Run(), out.Close())
	var s sample
	if err == nil {
		_, err = fmt.Fscan(in, &s.wall, &s.memory)
	}
	return s, err
}

// runMeasured implements the new process of sampled.
func runMeasured() error {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, measured+"=") })
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if err != nil || !ok {
		return errors.Join(err, errors.New("no measurement"))
	}
	_, err = fmt.Fprintln(os.NewFile(3, "result"), int64(wall), usage.Maxrss<<10) // Linux reports KiB
	return err
}

func main() {
	if os.Getenv(measured) != "" {
		if err := runMeasured(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	n := flag.Int("n", 5, "runs of each command")
	var size sizes
	flag.IntVar(&size.objects, "objects", 800, "objects to install, upgrade and uninstall")
	flag.IntVar(&size.releases, "releases", 300, "releases to list")
	flag.IntVar(&size.revisions, "revisions", 10, "revisions of each of them")
	match := flag.String("run", "", "measure only what matches this regular expression")
	flag.Parse()
	if err := bench(*n, *match, size); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(n int, match string, size sizes) (err error) {
	re, err := regexp.Compile(match)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	ours := os.Getenv("MOONHELM_TEST_HELM")
	if ours == "" {
		ours = "../bin/helm"
	}
	ours, err = filepath.Abs(ours)
	if err != nil {
		return err
	}
	helm, err := peertest.Helm(peertest.Helm4)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "moonhelm-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	list, err := workloads(dir, ours, helm, size)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "work\tours\tHelm\tratio\tours MB\tHelm MB\tratio")
	var group workload
	defer func() {
		if group.end != nil {
			err = errors.Join(err, group.end())
		}
	}()
	for _, l := range list {
		if !re.MatchString(l.name) {
			continue
		}
		if l.needsCluster && kubeconfig() == "" {
			fmt.Fprintf(w, "%s\t(no cluster: see README.md)\n", l.name)
			continue
		}
		if l.group != group.group {
			if group.end != nil {
				if err := group.end(); err != nil {
					return err
				}
			}
			if group = l; l.begin != nil {
				if err := l.begin(); err != nil {
					return fmt.Errorf("%s: %w", l.name, err)
				}
			}
		}
		a, b, err := compare(l, ours, helm, dir, n)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		if l.alone {
			fmt.Fprintf(w, "%s\t%s\t-\t-\t%d\t-\t-\n", l.name, a.wall.Round(100*time.Microsecond), a.memory>>20)
			continue
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

// compare runs both binaries alternately, so that other load on the machine affects both.
func compare(l workload, ours, helm, dir string, n int) (a, b sample, err error) {
	var as, bs []sample
	sides := []struct {
		bin, namespace string
		args, before   []string
		unchanged      bool
		into           *[]sample
	}{{ours, "bench-ours", slices.Concat(l.args, l.own), l.ownBefore, l.unchanged, &as},
		{helm, "bench-helm", l.args, nil, false, &bs}}
	if l.theirs != nil {
		sides[1].args = l.theirs
	}
	if l.alone {
		sides = sides[:1]
	} else if l.peer != nil {
		if sides[1].bin, err = l.peer(); err != nil {
			return a, b, err
		}
	}
	for _, side := range sides {
		if err := quiet(side.bin, dir, fill(l.setup, side.namespace, 0)); err != nil {
			return a, b, err
		}
		defer func() {
			err = errors.Join(err, quiet(side.bin, dir, fill(l.teardown, side.namespace, 0)))
		}()
	}
	for i := range n {
		for _, side := range sides {
			w := l
			w.args, w.before, w.after = fill(side.args, side.namespace, i+1), fill(l.before, side.namespace, i+1),
				fill(l.after, side.namespace, i+1)
			w.unchanged = side.unchanged
			if err := quiet(side.bin, dir, fill(side.before, side.namespace, i+1)); err != nil {
				return a, b, err
			}
			s, err := measure(w, side.bin, dir, side.namespace)
			if err != nil {
				return a, b, err
			}
			*side.into = append(*side.into, s)
		}
	}
	if l.alone {
		return median(as), b, nil
	}
	return median(as), median(bs), nil
}

// fill replaces NS, {NS}, =RUN and {RUN} in args.
func fill(args []string, namespace string, run int) []string {
	out := slices.Clone(args)
	for i, a := range out {
		out[i] = strings.NewReplacer("=RUN", fmt.Sprintf("=%d", run), "{RUN}", fmt.Sprint(run)).Replace(a)
		if out[i] = strings.Replace(out[i], "{NS}", namespace, 1); a == "NS" {
			out[i] = namespace
		}
	}
	return out
}

func measure(l workload, bin, dir, namespace string) (sample, error) {
	if err := quiet(bin, dir, l.before); err != nil {
		return sample{}, err
	}
	var was map[string]string
	if l.unchanged {
		var err error
		if was, err = versions(bin, dir, namespace); err != nil {
			return sample{}, err
		}
	}
	s, err := sampled(command(bin, dir, l.args))
	if err != nil {
		return s, fmt.Errorf("%s %s: %w", bin, strings.Join(l.args, " "), err)
	}
	if l.unchanged {
		is, err := versions(bin, dir, namespace)
		if err != nil {
			return s, err
		}
		if len(is) == 0 || !maps.Equal(was, is) {
			return s, fmt.Errorf("%s %s: objects were written although nothing had changed", bin, strings.Join(l.args, " "))
		}
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

// command returns a command for bin, with a home directory that no other binary uses.
func command(bin, dir string, args []string) *exec.Cmd {
	cmd := exec.Command(bin, args...)
	home := filepath.Join(dir, "home", filepath.Base(filepath.Dir(bin)))
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + kubeconfig()}
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
