// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The size of the pushed archive: 64 MB of incompressible data.
const (
	pushedFiles    = 16
	pushedFileSize = 4_000_000
)

// registryWorkloads push to the distribution project's registry with storage in a directory: with
// its memory storage, such a blob takes 12 s with any client.
func registryWorkloads(dir string) ([]workload, error) {
	chart, archive := filepath.Join(dir, "large"), filepath.Join(dir, "large-0.1.0.tgz")
	host := "127.0.0.1:15099"
	var server *exec.Cmd
	begin := func() error {
		files := map[string]string{filepath.Join(chart, "Chart.yaml"): "apiVersion: v2\nname: large\nversion: 0.1.0\n"}
		noise := rand.NewChaCha8([32]byte{1})
		for i := range pushedFiles {
			data := make([]byte, pushedFileSize)
			_, _ = noise.Read(data)
			files[filepath.Join(chart, "files", fmt.Sprint(i))] = string(data)
		}
		if err := write(files); err != nil {
			return err
		}
		bin := filepath.Join(dir, "registry")
		build := exec.Command("go", "build", "-o", bin, ".")
		build.Dir = "../test/registry"
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the registry: %w\n%s", err, out)
		}
		server = exec.Command(bin, "-addr", host, "-store", filepath.Join(dir, "blobs"))
		out, err := server.StdoutPipe()
		if err != nil {
			return err
		}
		if err := server.Start(); err != nil {
			return err
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err == nil && !strings.Contains(line, host) {
			err = fmt.Errorf("%s is in use: %s", host, line)
		}
		return err
	}
	end := func() error {
		_ = server.Process.Signal(os.Interrupt)
		return server.Wait()
	}
	return []workload{{
		name: "push a chart of 64 MB", group: "registry", begin: begin, end: end,
		before: []string{"package", chart, "--destination", dir},
		args:   []string{"push", archive, "oci://" + host + "/{NS}/{RUN}", "--plain-http"},
	}}, nil
}
