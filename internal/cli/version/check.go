// SPDX-License-Identifier: Apache-2.0

package version

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/build"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// releases is where releases are; MOONHELM_RELEASES names a mirror, as for get-moonhelm.
const releases = "https://github.com/moonhelm/moonhelm/releases"

// check asks for the newest release and prints how this one compares to it. The request is
// for one file and says nothing of this machine, not even the version.
func check(ctx context.Context, f *cmdutil.Factory) error {
	home := strings.TrimSuffix(f.Getenv("MOONHELM_RELEASES"), "/")
	if home == "" {
		home = releases
	}
	newest, err := latest(ctx, f.HTTP(), home)
	if err != nil {
		return fmt.Errorf("ask for the newest release: %w", err)
	}
	return compare(f.Out, build.Release(), newest, home)
}

// latest returns the number of the newest release.
func latest(ctx context.Context, client *fetch.Client, home string) (*semver.Version, error) {
	address := home + "/latest/download/helm-latest-version"
	var text bytes.Buffer
	if err := client.Get(ctx, address, address, fetch.HostOptions{}, 256, &text); err != nil {
		return nil, err
	}
	newest, err := semver.StrictNewVersion(strings.TrimPrefix(strings.TrimSpace(text.String()), "v"))
	if err != nil {
		return nil, fmt.Errorf("%s: the answer is not a version: %w", fetch.Clean(address), err)
	}
	return newest, nil
}

func compare(w io.Writer, release string, newest *semver.Version, home string) error {
	own, err := semver.NewVersion(release)
	if err != nil {
		return fmt.Errorf("this build has an invalid version: %q: %w", release, err)
	}
	switch {
	case own.LessThan(newest):
		_, err = fmt.Fprintf(w, "Moonhelm %s is out, this is %s: %s/tag/v%s\n", newest, own, fetch.Clean(home), newest)
	case own.GreaterThan(newest):
		_, err = fmt.Fprintf(w, "Moonhelm %s is newer than the newest release, %s\n", own, newest)
	default:
		_, err = fmt.Fprintf(w, "Moonhelm %s is the newest release\n", own)
	}
	return err
}
