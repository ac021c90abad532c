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

// helper is a program that keeps credentials, by what follows docker-credential-
// in its name. The protocol is that of
// https://github.com/docker/docker-credential-helpers.
type helper string

// identityUser is the user name under which helpers keep identity tokens.
const identityUser = "<token>"

// helperEntry is how helpers are given credentials and give them.
type helperEntry struct {
	ServerURL string
	Username  string
	Secret    string
}

func (h helper) get(ctx context.Context, server string) (secret, error) {
	out, err := h.run(ctx, "get", server, server)
	if errors.Is(err, errNotKept) {
		return secret{}, nil
	}
	var entry helperEntry
	if err == nil && json.Unmarshal(out, &entry) != nil {
		err = h.failed(server, errors.New("it does not answer as it should"))
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
	if errors.Is(err, errNotKept) {
		return nil
	}
	return err
}

// errNotKept reports that a helper has nothing for a server.
var errNotKept = errors.New("credentials not found in native keychain")

// helperPatience is how long a helper may take. A person may have to type a passphrase.
const helperPatience = time.Minute

// errNoAnswer is why a helper that takes longer is given up.
var errNoAnswer = errors.New("it did not answer within a minute, and was ended")

// maxHelperOutput is how much of a helper's output is kept, in bytes.
const maxHelperOutput = 1 << 20

// run runs the program until ctx ends. Its output may be a secret, so that errors tell of it
// only what the protocol has for errors.
func (h helper) run(ctx context.Context, verb, server, input string) ([]byte, error) {
	if h == "" || strings.ContainsAny(string(h), `/\`) {
		return nil, fmt.Errorf("%q is not a name of a program that keeps credentials", string(h))
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
	if strings.Contains(words, errNotKept.Error()) {
		return nil, errNotKept
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && words != "" && verb != "get" {
		err = fmt.Errorf("%w: %s", err, short(words))
	}
	return nil, h.failed(server, err)
}

func (h helper) failed(server string, err error) error {
	return fmt.Errorf("docker-credential-%s, which keeps the credentials for %s: %w", string(h), server, err)
}

// systemHelper is the program for the system's own keychain, "" where it is not
// installed. As in Helm, that is where credentials go when none are stored yet.
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
