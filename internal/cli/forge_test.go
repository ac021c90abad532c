// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moonhelm/moonhelm/release"
)

// forgeRecord is a command of scripts: forge RELEASE REVISION OLD NEW [OLD NEW...]
// replaces text in the JSON of a record in $HELM_NAMESPACE, as everyone can who may
// write Secrets there. OLD may be kind=KIND, for what the record says of a hook's kind
// beside its manifest, or json=TEXT, for what stands anywhere in the record. It fails
// where the record does not have the text.
func forgeRecord() {
	if err := forge(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func forge(args []string) error {
	if len(args) < 4 || len(args)%2 != 0 {
		return fmt.Errorf("usage: forge RELEASE REVISION OLD NEW [OLD NEW...]")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	url := fmt.Sprintf("%s/api/v1/namespaces/%s/secrets/sh.helm.release.v1.%s.v%s", config.Host, os.Getenv("HELM_NAMESPACE"), args[0], args[1])
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var secret struct {
		Data struct {
			Release []byte `json:"release"`
		} `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&secret); err != nil {
		return err
	}
	rel, err := release.Decode(secret.Data.Release)
	if err != nil {
		return err
	}
	data, err := forged(rel, args[2:])
	if err != nil {
		return err
	}
	body := fmt.Sprintf(`{"data":{"release":%q}}`, base64.StdEncoding.EncodeToString(data))
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPatch, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	answer, err := client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the server says %s", answer.Status)
	}
	return nil
}

// forged is the record of rel with some texts of its hooks and its manifest replaced.
func forged(rel *release.Release, pairs []string) ([]byte, error) {
	for i := 0; i < len(pairs); i += 2 {
		from, to := strings.ReplaceAll(pairs[i], `\n`, "\n"), strings.ReplaceAll(pairs[i+1], `\n`, "\n")
		found := false
		replace := func(text *string) {
			found = found || strings.Contains(*text, from)
			*text = strings.ReplaceAll(*text, from, to)
		}
		if text, ok := strings.CutPrefix(from, "json="); ok {
			whole, err := json.Marshal(rel)
			if err != nil {
				return nil, err
			}
			found = bytes.Contains(whole, []byte(text))
			if err := json.Unmarshal(bytes.ReplaceAll(whole, []byte(text), []byte(to)), rel); err != nil {
				return nil, err
			}
		}
		replace(&rel.Manifest)
		for _, h := range rel.Hooks {
			replace(&h.Manifest)
			if kind, ok := strings.CutPrefix(from, "kind="); ok && h.Kind == kind {
				h.Kind, found = to, true
			}
		}
		if !found {
			return nil, fmt.Errorf("the record does not have %q", from)
		}
	}
	return release.Encode(rel)
}
