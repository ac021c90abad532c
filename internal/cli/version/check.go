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

// releases is the base URL of the releases; MOONHELM_RELEASES overrides it, as for get-moonhelm.
const releases = "https://github.com/moonhelm/moonhelm/releases"

// check fetches the latest version and prints how this one compares to it. The request
// identifies neither the machine nor the running version.
func check(ctx context.Context, f *cmdutil.Factory) error {
	baseURL := strings.TrimSuffix(f.Getenv("MOONHELM_RELEASES"), "/")
	if baseURL == "" {
		baseURL = releases
	}
	newest, err := latest(ctx, f.HTTP(), baseURL)
	if err != nil {
		return fmt.Errorf("fetch the latest version: %w", err)
	}
	return compare(f.Out, build.Release(), newest, baseURL)
}

// latest returns the number of the newest release.
func latest(ctx context.Context, client *fetch.Client, baseURL string) (*semver.Version, error) {
	address := baseURL + "/latest/download/helm-latest-version"
	var text bytes.Buffer
	if err := client.Get(ctx, address, address, fetch.HostOptions{}, 256, &text); err != nil {
		return nil, err
	}
	newest, err := semver.StrictNewVersion(strings.TrimPrefix(strings.TrimSpace(text.String()), "v"))
	if err != nil {
		return nil, fmt.Errorf("%s: invalid version in the response: %w", fetch.RedactURL(address), err)
	}
	return newest, nil
}

// compare prints whether newest is newer than release, the version of this build.
func compare(w io.Writer, release string, newest *semver.Version, baseURL string) error {
	current, err := semver.NewVersion(release)
	if err != nil {
		return fmt.Errorf("this build has an invalid version: %q: %w", release, err)
	}
	switch {
	case current.LessThan(newest):
		_, err = fmt.Fprintf(w, "Moonhelm %s is available, you have %s: %s/tag/v%s\n", newest, current,
			fetch.RedactURL(baseURL), newest)
	case current.GreaterThan(newest):
		_, err = fmt.Fprintf(w, "Moonhelm %s is newer than the newest release, %s\n", current, newest)
	default:
		_, err = fmt.Fprintf(w, "Moonhelm %s is the newest release\n", current)
	}
	return err
}
