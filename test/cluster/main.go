// SPDX-License-Identifier: Apache-2.0

// Command cluster runs a real Kubernetes control plane on this machine for tests and
// demonstrations. Each cluster is one process with free loopback ports and a directory, and
// leaves nothing behind when it stops:
//
//	cluster up --detach
//	export KUBECONFIG=$(cluster kubeconfig)
//	cluster down
//
// It prints lines of the form name=value for tests. It does not run containers: README.md says
// how it simulates pods.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/moonhelm/moonhelm/test/cluster/internal/controlplane"
)

const usage = `Run a Kubernetes control plane on this machine.

  cluster up [--detach]            start; in the foreground until Ctrl-C or SIGTERM
  cluster up --until-stdin-closes  start for a test: ends when standard input does
  cluster up --with-parent PID     start for a test: ends when that process does
  cluster down                     stop it and remove its directory
  cluster status                   say whether it runs (exit code 3 when not)
  cluster kubeconfig [--restricted]
                                   print the path of its kubeconfig

Every command takes --name NAME (default "default") or --dir DIR, so that
several clusters run side by side. "up" with --until-stdin-closes or
--with-parent and neither of both makes a temporary directory. See README.md.
`

// errNotRunning is returned by commands that need a running cluster.
var errNotRunning = errors.New("the cluster is not running; start it with: cluster up")

func main() {
	err := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, errNotRunning):
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(3)
	default:
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out, errs io.Writer) error {
	if len(args) == 0 {
		fmt.Fprint(out, usage)
		return nil
	}
	name, args := args[0], args[1:]
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(errs)
	fs.Usage = func() { fmt.Fprint(errs, usage) }
	place := place{}
	fs.StringVar(&place.dir, "dir", "", "the cluster's `directory`; it must not exist or be empty")
	fs.StringVar(&place.name, "name", "", "the cluster's `name`; its directory is a temporary one by that name")
	switch name {
	case "up":
		o := options{}
		fs.BoolVar(&o.detach, "detach", false, "return when the cluster is ready and leave it running")
		fs.BoolVar(&o.untilStdin, "until-stdin-closes", false, "stop when standard input ends")
		fs.IntVar(&o.parent, "with-parent", 0, "stop when the process with this `PID` ends")
		fs.IntVar(&o.nodes, "nodes", 2, "how many nodes to play")
		fs.BoolVar(&o.quiet, "detached", false, "used by --detach for the process that stays")
		if err := fs.Parse(args); err != nil {
			return err
		}
		dir, err := place.find(o.untilStdin || o.parent != 0)
		if err != nil {
			return err
		}
		if o.detach {
			return detach(dir, o, out)
		}
		return up(context.Background(), dir, o, in, out)
	case "down", "status":
		if err := fs.Parse(args); err != nil {
			return err
		}
		dir, err := place.find(false)
		if err != nil {
			return err
		}
		if name == "down" {
			return down(dir, out)
		}
		return status(dir, out)
	case "kubeconfig":
		restricted := fs.Bool("restricted", false, "of the user without permissions")
		if err := fs.Parse(args); err != nil {
			return err
		}
		dir, err := place.find(false)
		if err != nil {
			return err
		}
		if _, err := owner(dir); err != nil {
			return err
		}
		file := controlplane.AdminKubeconfig
		if *restricted {
			file = controlplane.RestrictedKubeconfig
		}
		fmt.Fprintln(out, filepath.Join(dir, file))
		return nil
	case "serve": // the subprocess of up; hidden
		nodes := fs.Int("nodes", 2, "")
		if err := fs.Parse(args); err != nil {
			return err
		}
		return serve(context.Background(), place.dir, *nodes, in, out)
	case "help", "-h", "--help":
		fmt.Fprint(out, usage)
		return nil
	}
	return fmt.Errorf("unknown command %q; see: cluster help", name)
}

// place identifies a cluster by its directory or its name.
type place struct{ dir, name string }

// find returns the absolute path of the directory. If fresh is set and the cluster has no name,
// it creates a new directory.
func (p place) find(fresh bool) (string, error) {
	switch {
	case p.dir != "" && p.name != "":
		return "", errors.New("--dir and --name exclude each other: give one of them")
	case p.dir != "":
		return filepath.Abs(p.dir)
	case p.name == "" && fresh:
		return os.MkdirTemp("", "moonhelm-cluster-")
	case p.name == "":
		p.name = "default"
	case p.name != filepath.Base(p.name) || p.name == "." || p.name == "..":
		return "", fmt.Errorf("%q is not a name for a cluster: use letters, digits and dashes", p.name)
	}
	return filepath.Abs(filepath.Join(os.TempDir(), "moonhelm-clusters-"+strconv.Itoa(os.Getuid()), p.name))
}
