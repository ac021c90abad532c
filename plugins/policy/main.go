// SPDX-License-Identifier: Apache-2.0

// Command policy is the plugin policy: it evaluates ValidatingAdmissionPolicies for objects as if they
// were created, without a cluster.
//
//	helm template web ./web | helm policy --policy ./policies
//	policy evaluate <request.json >response.json
//
// helm lint starts it as in the second line: the request and the response are the JSON of
// lint.PolicyRequest and lint.PolicyResponse. It is a program of its own because cel-go and the functions
// that Kubernetes adds to it are large.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/internal/policyfiles"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/manifest"
)

// errDenied is returned after denials have been printed.
var errDenied = errors.New("objects are denied")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	switch {
	case errors.Is(err, pflag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "Error:", term.Safe(err.Error()))
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 1 && args[0] == "evaluate" {
		return answer(ctx, in, out)
	}
	return check(ctx, args, in, out)
}

// maxInput is the largest input, in bytes.
const maxInput = 256 << 20

// answer reads a request and writes the response.
func answer(ctx context.Context, in io.Reader, out io.Writer) error {
	var req lint.PolicyRequest
	if err := json.NewDecoder(io.LimitReader(in, maxInput)).Decode(&req); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	resp, err := evaluate(ctx, req)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(resp)
}

// check evaluates policies for the objects in files, as a command of helm.
func check(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	fs := pflag.NewFlagSet("policy", pflag.ContinueOnError)
	fs.SetOutput(out)
	fs.Usage = func() {
		fmt.Fprintf(out, "Evaluate ValidatingAdmissionPolicies for objects, without a cluster.\n\n"+
			"Usage:\n  helm policy --policy PATH [flags] [FILE...]\n\n"+
			"Objects are read from files or standard input: helm template web ./web | helm policy --policy ./policies\n\n"+
			"Flags:\n%s", fs.FlagUsages())
	}
	var req lint.PolicyRequest
	paths := fs.StringArray("policy", nil, "file or directory with policies, bindings and parameters (may be repeated)")
	fs.StringVarP(&req.Namespace, "namespace", "n", namespace(), "namespace of objects without one")
	fs.StringVar(&req.KubeVersion, "kube-version", "", "Kubernetes version whose kinds the objects have, such as 1.36")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if len(*paths) == 0 {
		return errors.New("--policy is required: a file or directory with ValidatingAdmissionPolicies")
	}
	var err error
	if req.Policies, err = policyfiles.Read(*paths); err != nil {
		return err
	}
	names, err := readObjects(&req, fs.Args(), in)
	if err != nil {
		return err
	}
	resp, err := evaluate(ctx, req)
	if err != nil {
		return err
	}
	return printResponse(out, resp, names)
}

// namespace returns the namespace of helm.
func namespace() string {
	if ns := os.Getenv("HELM_NAMESPACE"); ns != "" {
		return ns
	}
	return "default"
}

// readObjects adds the objects in files, or in if there are none, to req, and returns their names.
func readObjects(req *lint.PolicyRequest, files []string, in io.Reader) (names []string, err error) {
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, name := range files {
		text, err := read(name, in)
		if err != nil {
			return nil, err
		}
		objects, err := manifest.Parse(name, string(text))
		if err == nil {
			objects, err = manifest.Flatten(objects)
		}
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			m, err := o.Map()
			if err != nil {
				return nil, err
			}
			req.Objects, names = append(req.Objects, m), append(names, o.String())
		}
	}
	return names, nil
}

func read(name string, in io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(in, maxInput))
	}
	return os.ReadFile(name)
}

// printResponse prints what objects do not pass, as text. It returns an error if one is denied.
func printResponse(out io.Writer, resp *lint.PolicyResponse, names []string) error {
	denied := 0
	for _, p := range resp.Problems {
		level := "INFO"
		if p.Error {
			level = "ERROR"
			denied++
		}
		fmt.Fprintf(out, "[%s] %s: %s\n", level, term.SafeLine(p.File), term.Safe(p.Message))
	}
	for _, f := range resp.Fields {
		denied++
		fmt.Fprintf(out, "[ERROR] %s: %s\n", term.SafeLine(names[f.Object]), term.Safe(f.String()))
	}
	for _, v := range resp.Verdicts {
		if v.Severity() == lint.Error {
			denied++
		}
		fmt.Fprintf(out, "[%s] %s: %s\n", v.Severity(), term.SafeLine(names[v.Object]), term.Safe(v.String()))
	}
	fmt.Fprintf(out, "%d object(s) checked, %d error(s)\n", len(names), denied)
	if denied > 0 {
		return errDenied
	}
	return nil
}

// kubeMinor returns the minor version of text, "1.36" or "v1.36.3", or 0 if it is empty.
func kubeMinor(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	var major, minor int
	if _, err := fmt.Sscanf(strings.TrimPrefix(text, "v"), "%d.%d", &major, &minor); err != nil || major != 1 {
		return 0, fmt.Errorf("invalid Kubernetes version %q: want 1.36", text)
	}
	return minor, nil
}
