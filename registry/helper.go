// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/process"
)

// helper is a program that stores credentials, without the prefix docker-credential-. The
// protocol is documented at https://github.com/docker/docker-credential-helpers.
type helper string

// identityUser is the user name of identity tokens in helpers.
const identityUser = "<token>"

// helperEntry is the input and output of helpers.
type helperEntry struct {
	ServerURL string
	Username  string
	Secret    string
}

func (h helper) get(ctx context.Context, server string) (secret, error) {
	out, err := h.run(ctx, "get", server, server)
	if errors.Is(err, errNoCredentials) {
		return secret{}, nil
	}
	var entry helperEntry
	if err == nil && json.Unmarshal(out, &entry) != nil {
		err = h.failed(server, errors.New("its output is not valid JSON"))
	}
	switch {
	case err != nil:
		return secret{}, err
	case entry.Username == identityUser:
		return secret{identity: entry.Secret}, nil
	}
	return secret{user: entry.Username, password: entry.Secret}, nil
}

func (h helper) store(ctx context.Context, server string, s secret) error {
	entry := helperEntry{ServerURL: server, Username: s.user, Secret: s.password}
	if s.identity != "" {
		entry.Username, entry.Secret = identityUser, s.identity
	}
	text, err := json.Marshal(entry)
	if err == nil {
		_, err = h.run(ctx, "store", server, string(text))
	}
	return err
}

func (h helper) erase(ctx context.Context, server string) error {
	_, err := h.run(ctx, "erase", server, server)
	if errors.Is(err, errNoCredentials) {
		return nil
	}
	return err
}

// errNoCredentials is returned if a helper has no credentials for a server.
var errNoCredentials = errors.New("credentials not found in native keychain")

// helperTimeout limits the time of a helper. Users may have to type a passphrase.
const helperTimeout = time.Minute

// errHelperTimeout is returned for a helper that exceeds the timeout.
var errHelperTimeout = errors.New("it did not respond within a minute and was killed")

// maxHelperOutput is the largest output of a helper that is read, in bytes.
const maxHelperOutput = 1 << 20

// run runs the helper. As the output may contain a secret, errors include it only for verbs
// whose output is an error message.
func (h helper) run(ctx context.Context, verb, server, input string) ([]byte, error) {
	if h == "" || strings.ContainsAny(string(h), `/\`) {
		return nil, fmt.Errorf("%q is not a valid name of a credential helper", string(h))
	}
	cmd := exec.CommandContext(ctx, "docker-credential-"+string(h), verb)
	cmd.Stdin = strings.NewReader(input)
	ended := process.OwnGroup(cmd, time.Second)
	var out bytes.Buffer
	cmd.Stdout = &file.HeadWriter{W: &out, Left: maxHelperOutput}
	err := cmd.Run()
	ended()
	if err == nil {
		return out.Bytes(), nil
	}
	if ctx.Err() != nil {
		return nil, h.failed(server, context.Cause(ctx))
	}
	words := strings.TrimSpace(out.String())
	if strings.Contains(words, errNoCredentials.Error()) {
		return nil, errNoCredentials
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && words != "" && verb != "get" {
		err = fmt.Errorf("%w: %s", err, short(words))
	}
	return nil, h.failed(server, err)
}

func (h helper) failed(server string, err error) error {
	return fmt.Errorf("docker-credential-%s for %s: %w", string(h), server, err)
}

// systemHelper returns the helper of the system's keychain, or "" if it is not installed.
// As in Helm, it is used if no credentials are stored yet.
func systemHelper() helper {
	var h helper
	switch runtime.GOOS {
	case "darwin":
		h = "osxkeychain"
	case "windows":
		h = "wincred"
	case "linux":
		h = "secretservice"
		if _, err := exec.LookPath("pass"); err == nil {
			h = "pass"
		}
	default:
		return ""
	}
	if _, err := exec.LookPath("docker-credential-" + string(h)); err != nil {
		return ""
	}
	return h
}
