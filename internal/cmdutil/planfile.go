// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/planfile"
)

// ReadPlan reads the file of a plan, or standard input for "-". With keys.Verify it verifies the signature
// of the file, and returns the signer.
func ReadPlan(ctx context.Context, f *Factory, path string, keys VerifyFlags) (
	doc *planfile.Document, signer string, err error) {
	var data []byte
	switch {
	case path == "-" && keys.Verify:
		return nil, "", errors.New("--verify needs the file of a plan: the signature is beside it")
	case path == "-" && f.In == nil:
		return nil, "", errors.New("standard input: there is none")
	case path == "-":
		if data, err = term.ReadUntil(ctx, f.In, planfile.MaxSize+1); err != nil {
			return nil, "", fmt.Errorf("read standard input: %w", err)
		}
	case keys.Verify:
		var verified bytes.Buffer
		w := &file.LimitWriter{W: &verified, Left: planfile.MaxSize, Err: &planfile.FormatError{
			Err: fmt.Errorf("it is larger than %d MiB", planfile.MaxSize>>20)}}
		if signer, err = f.VerifyArchive(path, keys.Keyring, w); err != nil {
			return nil, "", err
		}
		data = verified.Bytes()
	default:
		if data, err = file.ReadInput(ctx, path, planfile.MaxSize); err != nil {
			return nil, "", err
		}
	}
	if doc, err = planfile.Decode(data); err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	return doc, signer, nil
}

// OfPlan sets the flags to the options of a plan.
func (a *ApplyFlags) OfPlan(o planfile.Options) {
	a.serverSide, a.noValidation = "auto", o.NoValidation
	if o.ServerSide != nil && !*o.ServerSide {
		a.serverSide = "false"
	}
}

// NoValidation reports whether objects are not validated before they are applied.
func (a *ApplyFlags) NoValidation() bool { return a.noValidation }
