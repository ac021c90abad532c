// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// hubOptions are the flags of `helm search hub`.
type hubOptions struct {
	Endpoint string
	ListRepo bool
	results
}

// defaultHub redirects to Artifact Hub; it is Helm's default.
const defaultHub = "https://hub.helm.sh"

func newHub(f *cmdutil.Factory) *cobra.Command {
	var o hubOptions
	cmd := &cobra.Command{
		Use:   "hub [WORD]",
		Short: "Search for charts in Artifact Hub or another hub",
		Long: `Search for charts in Artifact Hub (https://artifacthub.io), or in another hub with
the search API of Monocular.`,
		Example: `  helm search hub web
  helm search hub web --list-repo-url
  helm search hub web --endpoint https://hub.example.com`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), f, strings.Join(args, " "))
		},
	}
	cmd.Flags().StringVar(&o.Endpoint, "endpoint", defaultHub, "URL of the hub")
	cmd.Flags().BoolVar(&o.ListRepo, "list-repo-url", false, "show the URL of each chart's repository too")
	o.bind(cmd)
	return cmd
}

// hubResponse is the response of Monocular's search API, with the fields that Artifact Hub adds.
type hubResponse struct {
	Data []struct {
		ID          string `json:"id"`
		ArtifactHub struct {
			PackageURL string `json:"packageUrl"`
		} `json:"artifactHub"`
		Attributes struct {
			Description string     `json:"description"`
			Repo        repository `json:"repo"`
		} `json:"attributes"`
		Relationships struct {
			LatestChartVersion struct {
				Data struct {
					Version    string `json:"version"`
					AppVersion string `json:"app_version"`
				} `json:"data"`
			} `json:"latestChartVersion"`
		} `json:"relationships"`
	} `json:"data"`
}

type repository struct {
	URL  string `json:"url"`
	Name string `json:"name"`
}

// hubElement is a chart in JSON and YAML. The keys are Helm's.
type hubElement struct {
	URL         string     `json:"url"`
	Version     string     `json:"version"`
	AppVersion  string     `json:"app_version"`
	Description string     `json:"description"`
	Repository  repository `json:"repository"`
}

func (o *hubOptions) run(ctx context.Context, f *cmdutil.Factory, word string) error {
	response, err := o.ask(ctx, f, word)
	if err != nil {
		return err
	}
	elements := make([]hubElement, len(response.Data))
	rows := make([][]string, len(response.Data))
	header := []string{"URL", "CHART VERSION", "APP VERSION", "DESCRIPTION"}
	if o.ListRepo {
		header = append(header, "REPO URL")
	}
	for i, d := range response.Data {
		latest := d.Relationships.LatestChartVersion.Data
		page := d.ArtifactHub.PackageURL
		if page == "" { // Monocular's path
			page = strings.TrimSuffix(fetch.RedactURL(o.Endpoint), "/") + "/charts/" + d.ID
		}
		elements[i] = hubElement{
			URL: page, Version: latest.Version, AppVersion: latest.AppVersion,
			Description: d.Attributes.Description, Repository: d.Attributes.Repo,
		}
		rows[i] = []string{page, latest.Version, latest.AppVersion, d.Attributes.Description}
		if o.ListRepo {
			rows[i] = append(rows[i], d.Attributes.Repo.URL)
		}
	}
	return o.write(f, len(elements), elements, header, rows)
}

// maxResponse is the size of the largest response, in bytes.
const maxResponse = 32 << 20

func (o *hubOptions) ask(ctx context.Context, f *cmdutil.Factory, word string) (*hubResponse, error) {
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("--endpoint: %s is not an http or https URL of a hub", fetch.RedactURL(o.Endpoint))
	}
	u.RawQuery, u.Fragment, u.RawFragment = url.Values{"q": {word}}.Encode(), "", ""
	var b bytes.Buffer
	if err := f.HTTP().Get(ctx, u.JoinPath("api/chartsvc/v1/charts/search").String(), "", fetch.HostOptions{}, maxResponse,
		&b); err != nil {
		return nil, fmt.Errorf("unable to perform search against %q: %w", fetch.RedactURL(o.Endpoint), err)
	}
	var response hubResponse
	if err := json.Unmarshal(b.Bytes(), &response); err != nil {
		return nil, fmt.Errorf("unable to perform search against %q: invalid response of a hub: %w",
			fetch.RedactURL(o.Endpoint), err)
	}
	return &response, nil
}
