// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/internal/file"
)

// Credentials are the files in which credentials for registries are stored, in
// Docker's format: as text, or with helper programs (docker-credential-...).
type Credentials struct {
	// File is ours and Helm's; logins and logouts are written to it.
	File string
	// Docker is Docker's, which is only read; "" for none.
	Docker string

	patience time.Duration // for helpers; 0 is the usual

	mu     sync.Mutex
	silent map[helper]error // of those that did not answer, which are not asked again
}

// dockerHub is the key that credentials for Docker's registry are stored under.
const dockerHub = "https://index.docker.io/v1/"

// maxConfigFile is the largest file of credentials that is read, in bytes.
const maxConfigFile = 4 << 20

// configFile is what we read of a file of credentials.
type configFile struct {
	Auths       map[string]storedAuth `json:"auths"`
	CredsStore  string                `json:"credsStore"`
	CredHelpers map[string]string     `json:"credHelpers"`
}

// storedAuth is one entry of a file of credentials.
type storedAuth struct {
	Auth          string `json:"auth,omitempty"` // base64 of name:password
	Username      string `json:"username,omitempty"`
	Password      string `json:"password,omitempty"`
	IdentityToken string `json:"identitytoken,omitempty"`
	RegistryToken string `json:"registrytoken,omitempty"`
}

// find looks for credentials for what is at ref: those stored for the longest
// part of its path first, the host's last; of two files with the same, ours goes
// first. When nothing is found, the error says what could not be read.
func (c *Credentials) find(ctx context.Context, ref Ref) (secret, error) {
	var files []*configFile
	var trouble []error
	for _, path := range []string{c.File, c.Docker} {
		f, err := readConfig(path)
		if err != nil {
			trouble = append(trouble, err)
			continue
		}
		files = append(files, f)
	}
	for _, key := range keys(ref) {
		for _, f := range files {
			found, err := c.look(ctx, f, key, key == ref.Host)
			if err != nil {
				trouble = append(trouble, err)
			}
			if found != (secret{}) {
				return found, nil
			}
		}
	}
	return secret{}, errors.Join(trouble...)
}

// look is f.find, but that a helper that does not answer is waited for once.
func (c *Credentials) look(ctx context.Context, f *configFile, key string, host bool) (secret, error) {
	h := f.helper(key, host)
	c.mu.Lock()
	err := c.silent[h]
	c.mu.Unlock()
	if err != nil {
		return secret{}, err
	}
	ctx, cancel := c.patient(ctx)
	defer cancel()
	found, err := f.find(ctx, key, host)
	if errors.Is(err, errNoAnswer) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.silent == nil {
			c.silent = map[helper]error{}
		}
		c.silent[h] = err
	}
	return found, err
}

// patient is ctx for one question to a helper.
func (c *Credentials) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	most := c.patience
	if most == 0 {
		most = helperPatience
	}
	return context.WithTimeoutCause(ctx, most, errNoAnswer)
}

// keys are the names that credentials for ref may be stored under, the longest
// first.
func keys(ref Ref) []string {
	var out []string
	for path := ref.Path; path != ""; {
		out = append(out, ref.Host+"/"+path)
		path = path[:max(0, strings.LastIndexByte(path, '/'))]
	}
	return append(out, ref.Host)
}

// serverOf is the name that credentials for key are given to helper programs,
// and written under.
func serverOf(key string) string {
	switch key {
	case "docker.io", "index.docker.io", "registry-1.docker.io":
		return dockerHub
	}
	return key
}

// keyOf is the key that the name of a stored entry stands for: older ones are
// URLs.
func keyOf(server string) string {
	key, secure := strings.CutPrefix(server, "https://")
	key, plain := strings.CutPrefix(key, "http://")
	key = strings.TrimSuffix(key, "/")
	if secure || plain {
		key = strings.TrimSuffix(strings.TrimSuffix(key, "/v1"), "/v2")
	}
	return serverOf(key)
}

// readConfig reads a file of credentials; one that is not there is empty.
func readConfig(path string) (*configFile, error) {
	c := &configFile{}
	if path == "" {
		return c, nil
	}
	data, err := file.Read(path, maxConfigFile)
	switch {
	case errors.Is(err, fs.ErrNotExist), path == os.DevNull: // how some say that there is none
		return c, nil
	case err != nil:
		return nil, err
	case len(bytes.TrimSpace(data)) == 0:
		return c, nil
	}
	if json.Unmarshal(data, c) != nil { // its text may quote a secret
		return nil, fmt.Errorf("read %s: it is not a file of credentials in Docker's format", path)
	}
	return c, nil
}

// helper is the program that keeps the credentials for key, "" for none. One that
// keeps everything is asked about hosts, and about paths that the file lists: not
// about every part of a path.
func (c *configFile) helper(key string, host bool) helper {
	server := serverOf(key)
	for name, program := range c.CredHelpers {
		if keyOf(name) == server {
			return helper(program)
		}
	}
	if _, listed := c.entry(key); host || listed {
		return helper(c.CredsStore)
	}
	return ""
}

// find looks for key, with a helper first.
func (c *configFile) find(ctx context.Context, key string, host bool) (secret, error) {
	found, err := secret{}, error(nil)
	if h := c.helper(key, host); h != "" {
		found, err = h.get(ctx, serverOf(key))
	}
	if stored, listed := c.entry(key); found == (secret{}) && listed {
		var bad error
		if found, bad = stored.credential(); bad != nil {
			return found, fmt.Errorf("what is stored for %s cannot be read", key)
		}
	}
	return found, err
}

// entry is what is stored for key: under its own name, or under a URL's.
func (c *configFile) entry(key string) (storedAuth, bool) {
	if e, ok := c.Auths[key]; ok {
		return e, true
	}
	server := serverOf(key)
	for name, e := range c.Auths {
		if keyOf(name) == server {
			return e, true
		}
	}
	return storedAuth{}, false
}

func (s storedAuth) credential() (secret, error) {
	out := secret{user: s.Username, password: s.Password, identity: s.IdentityToken, token: s.RegistryToken}
	if s.Auth != "" {
		text, err := base64.StdEncoding.DecodeString(s.Auth)
		user, password, ok := strings.Cut(string(text), ":")
		if err != nil || !ok {
			return secret{}, errors.New("malformed")
		}
		out.user, out.password = user, strings.TrimRight(password, "\x00")
	}
	return out, nil
}

// DockerConfig is the file in which Docker keeps credentials, as the environment says;
// "" where it does not.
func DockerConfig(getenv func(string) string) string {
	if dir := getenv("DOCKER_CONFIG"); dir != "" {
		return filepath.Join(dir, "config.json")
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".docker", "config.json")
	}
	if home := getenv("USERPROFILE"); home != "" { // Windows
		return filepath.Join(home, ".docker", "config.json")
	}
	return ""
}
