// SPDX-License-Identifier: Apache-2.0

package mutated

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	moonvalues "github.com/moonhelm/moonhelm/chart/values"
)

// Output is the output or the error of `helm template`.
type Output struct {
	Documents []Document
	Error     string
}

// Document is a document of the output.
type Document struct{ Source, Text string }

// limit is the maximum time of one rendering.
const limit = 30 * time.Second

// Ours renders a case like `helm template`.
func Ours(src *Source, c *call) *Output {
	docs, err := ours(src, c)
	if err != nil {
		return &Output{Error: err.Error()}
	}
	return &Output{Documents: docs}
}

func ours(src *Source, c *call) ([]Document, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	o := moonvalues.Options{Files: c.Files, Set: c.Set, String: c.SetString, JSON: c.SetJSON, Literal: c.SetLiteral}
	vals, err := o.Build(os.ReadFile)
	if err != nil {
		return nil, err
	}
	loaded := src.loaded
	if c.Defaults != nil {
		files := slices.DeleteFunc(slices.Clone(src.files), func(f *chart.File) bool { return f.Name == "values.yaml" })
		files = append(files, &chart.File{Name: "values.yaml", Data: []byte(*c.Defaults)})
		if loaded, err = loader.LoadFiles(files); err != nil {
			return nil, err
		}
	}
	out, err := action.Template{}.Run(ctx, action.TemplateRequest{
		Chart: loaded, Values: vals, Name: c.Name, Namespace: c.Namespace,
		KubeVersion: c.KubeVersion, APIVersions: c.APIVersions, IsUpgrade: c.IsUpgrade, SkipSchema: c.SkipSchema,
	})
	if err != nil {
		return nil, err
	}
	var docs []Document
	if c.IncludeCRDs {
		for _, f := range out.Chart.CRDs() {
			docs = append(docs, Document{f.Source, string(f.Data)})
		}
	}
	for _, obj := range out.Objects {
		docs = append(docs, Document{obj.Source, obj.Raw})
	}
	for _, h := range out.Hooks {
		docs = append(docs, Document{h.Path, h.Manifest})
	}
	return docs, nil
}

// Peer is a running ../helm4.
type Peer struct {
	bin string
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// NewPeer returns a Peer for the binary of peers.SDK.
func NewPeer(bin string) *Peer { return &Peer{bin: bin} }

// errGone is returned if Helm crashes or does not terminate.
var errGone = errors.New("helm ended without an answer")

// Render renders a case with Helm.
func (p *Peer) Render(c *call) (*Output, error) {
	if p.cmd == nil {
		if err := p.start(); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	kill := time.AfterFunc(limit, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	var line []byte
	if _, err = p.in.Write(append(text, '\n')); err == nil {
		line, err = p.out.ReadBytes('\n')
	}
	if err != nil {
		p.Close()
		return nil, errGone
	}
	var a struct {
		Manifest string
		Hooks    []struct{ Path, Manifest string }
		Error    string
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return nil, err
	}
	if a.Error != "" {
		return &Output{Error: a.Error}, nil
	}
	out := &Output{Documents: split(a.Manifest)}
	for _, h := range a.Hooks {
		out.Documents = append(out.Documents, Document{h.Path, h.Manifest})
	}
	return out, nil
}

func (p *Peer) start() error {
	cmd := exec.Command(p.bin)
	cmd.Env = []string{"HOME=/nonexistent", "TZ=" + os.Getenv("TZ"), "GOGC=400", "GOMEMLIMIT=2GiB"}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd, p.in, p.out = cmd, in, bufio.NewReaderSize(out, 1<<20)
	return nil
}

// Close ends the process.
func (p *Peer) Close() {
	if p.cmd == nil {
		return
	}
	_ = p.in.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
}

const mark = "---\n# Source: "

// split parses the output of `helm template`.
func split(text string) []Document {
	var out []Document
	for i, part := range strings.Split("\n"+text, "\n"+mark) {
		if i == 0 {
			continue
		}
		source, body, _ := strings.Cut(part, "\n")
		out = append(out, Document{source, body})
	}
	return out
}
