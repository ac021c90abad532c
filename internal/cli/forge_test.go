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

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/release"
)

// forgeRecord implements the script command forge RELEASE REVISION OLD NEW [OLD NEW...], which
// replaces text in the JSON of a record in $HELM_NAMESPACE, as any user with write access to
// Secrets can. OLD may be kind=KIND for a hook's recorded kind, or json=TEXT for text anywhere in
// the record. It fails if the record does not contain the text.
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
	server, err := apiserver.Open(os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	path := fmt.Sprintf("/api/v1/namespaces/%s/secrets/sh.helm.release.v1.%s.v%s", os.Getenv("HELM_NAMESPACE"), args[0], args[1])
	text, _, err := server.Call(context.Background(), http.MethodGet, path, "", "")
	if err != nil {
		return err
	}
	var secret struct {
		Data struct {
			Release []byte `json:"release"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &secret); err != nil {
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
	_, status, err := server.Call(context.Background(), http.MethodPatch, path, "", body)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("patch %s: %d %s", path, status, http.StatusText(status))
	}
	return err
}

// forged returns the record of rel with replaced texts in hooks and manifest.
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
