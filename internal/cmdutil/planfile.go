// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"bytes"
	"context"
	"fmt"

	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/planfile"
)

// ReadPlan reads the file of a plan. With keys.Verify it verifies its signature, and returns the
// signer.
func ReadPlan(ctx context.Context, f *Factory, path string, keys VerifyFlags) (doc *planfile.Document, signer string, err error) {
	var data []byte
	if keys.Verify {
		var verified bytes.Buffer
		w := &file.LimitWriter{W: &verified, Left: planfile.MaxSize, Err: &planfile.FormatError{
			Err: fmt.Errorf("it is larger than %d MiB", planfile.MaxSize>>20)}}
		if signer, err = f.VerifyArchive(path, keys.Keyring, w); err != nil {
			return nil, "", err
		}
		data = verified.Bytes()
	} else if data, err = file.ReadInput(ctx, path, planfile.MaxSize); err != nil {
		return nil, "", err
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

// NoValidation reports whether objects are not validated beforehand.
func (a *ApplyFlags) NoValidation() bool { return a.noValidation }
