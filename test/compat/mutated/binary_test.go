// SPDX-License-Identifier: Apache-2.0

package mutated

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/moonhelm/moonhelm/internal/peertest"
)

// binaries are the paths of our binary and of Helm's.
func binaries(t *testing.T) (ours, helm string) {
	t.Helper()
	helm, err := peertest.Helm(peertest.Helm4)
	if err != nil {
		t.Fatal(err)
	}
	return peertest.Moonhelm(t, filepath.Join("..", "..", "..")), helm
}

// TestInProcessReference compares the renderings in one process, by our packages and
// by Helm's SDK, with those of the binaries.
func TestInProcessReference(t *testing.T) {
	charts := corpus(t)
	oursBin, helmBin := binaries(t)
	k := &Checker{Dir: t.TempDir(), Peer: NewPeer(peerProgram(t))}
	defer k.Peer.Close()
	const seed = 12
	for n := range peertest.EnvNumber(t, "MOONHELM_MUTATION_SAMPLE", 52) {
		c := Generate(charts, nil, seed, n)
		call, err := c.call(n)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.write(call); err != nil {
			t.Fatal(err)
		}
		dir := call.Chart
		if call.Defaults != nil {
			dir = filepath.Join(t.TempDir(), filepath.Base(call.Chart))
			if err := os.CopyFS(dir, os.DirFS(call.Chart)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "values.yaml"), []byte(*call.Defaults), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args := call.args(dir, call.Files)
		sdk, err := k.Peer.Render(call)
		if err != nil {
			t.Errorf("case %d/%d, %s: %v", seed, n, c.Chart.Name, err)
			continue
		}
		for _, l := range []struct {
			name, bin string
			inProcess func() *Output
		}{
			{"Helm's", helmBin, func() *Output { return again(k, call, sdk) }},
			{"ours", oursBin, func() *Output { return Ours(c.Chart, call) }},
		} {
			t.Run(fmt.Sprintf("%s, case %d of seed %d", l.name, n, seed), func(t *testing.T) {
				binary, short := runBinary(t, l.bin, args), l.inProcess()
				diffs := Compare(short, binary)
				if len(diffs) > 0 && binary.Error == "" {
					diffs, _ = Random(diffs, sdk, again(k, call, sdk))
				}
				for _, d := range diffs {
					t.Errorf("in process (first) and the binary differ: %s\n%s", d, c.Describe(n))
				}
			})
		}
	}
}

func again(k *Checker, c *call, last *Output) *Output {
	out, err := k.Peer.Render(c)
	if err != nil {
		return last
	}
	return out
}

func runBinary(t *testing.T, bin string, args []string) *Output {
	t.Helper()
	cmd := exec.Command(bin, args...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "TZ=UTC", "PATH=" + os.Getenv("PATH")}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return &Output{Error: err.Error() + ": " + stderr.String()}
	}
	return &Output{Documents: split(stdout.String())}
}
