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

// Credentials are files with registry credentials in Docker's format, which contain
// passwords or name helper programs (docker-credential-...). Files that do not exist have no
// credentials. Credentials are safe for concurrent use and must not be copied.
type Credentials struct {
	// File is the file of Moonhelm and Helm. Logins and logouts change it.
	File string
	// Docker is Docker's file, which is only read, or "".
	Docker string

	timeout time.Duration // of helpers; 0 is the default

	mu     sync.Mutex
	silent map[helper]error // helpers that timed out; they are not called again
}

// dockerHub is the key of the credentials for Docker Hub.
const dockerHub = "https://index.docker.io/v1/"

// maxConfigFile is the largest size of a credentials file, in bytes.
const maxConfigFile = 4 << 20

// configFile is the used part of a credentials file.
type configFile struct {
	Auths       map[string]storedAuth `json:"auths"`
	CredsStore  string                `json:"credsStore"`
	CredHelpers map[string]string     `json:"credHelpers"`
}

// storedAuth is an entry of a credentials file.
type storedAuth struct {
	Auth          string `json:"auth,omitempty"` // base64 of name:password
	Username      string `json:"username,omitempty"`
	Password      string `json:"password,omitempty"`
	IdentityToken string `json:"identitytoken,omitempty"`
	RegistryToken string `json:"registrytoken,omitempty"`
}

// find returns the credentials for ref: those of the longest matching path, or else of the
// host. File has priority over Docker. If there are none, it returns an error if a file or
// helper could not be read.
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

// look calls f.find, unless the helper timed out before.
func (c *Credentials) look(ctx context.Context, f *configFile, key string, host bool) (secret, error) {
	h := f.helper(key, host)
	c.mu.Lock()
	err := c.silent[h]
	c.mu.Unlock()
	if err != nil {
		return secret{}, err
	}
	ctx, cancel := c.withTimeout(ctx)
	defer cancel()
	found, err := f.find(ctx, key, host)
	if errors.Is(err, errHelperTimeout) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.silent == nil {
			c.silent = map[helper]error{}
		}
		c.silent[h] = err
	}
	return found, err
}

// withTimeout returns ctx with the timeout of a helper.
func (c *Credentials) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	most := c.timeout
	if most == 0 {
		most = helperTimeout
	}
	return context.WithTimeoutCause(ctx, most, errHelperTimeout)
}

// keys returns the keys under which credentials for ref may be stored, the longest path
// first.
func keys(ref Ref) []string {
	var out []string
	for path := ref.Path; path != ""; {
		out = append(out, ref.Host+"/"+path)
		path = path[:max(0, strings.LastIndexByte(path, '/'))]
	}
	return append(out, ref.Host)
}

// serverOf returns the server name for key in helper programs and credentials files.
func serverOf(key string) string {
	switch key {
	case "docker.io", "index.docker.io", "registry-1.docker.io":
		return dockerHub
	}
	return key
}

// keyOf returns the key of a stored entry, whose name may be a URL.
func keyOf(server string) string {
	key, secure := strings.CutPrefix(server, "https://")
	key, plain := strings.CutPrefix(key, "http://")
	key = strings.TrimSuffix(key, "/")
	if secure || plain {
		key = strings.TrimSuffix(strings.TrimSuffix(key, "/v1"), "/v2")
	}
	return serverOf(key)
}

// readConfig reads a credentials file. A file that does not exist is empty.
func readConfig(path string) (*configFile, error) {
	c := &configFile{}
	if path == "" {
		return c, nil
	}
	data, err := file.Read(path, maxConfigFile)
	switch {
	case errors.Is(err, fs.ErrNotExist), path == os.DevNull: // some use /dev/null for no file
		return c, nil
	case err != nil:
		return nil, err
	case len(bytes.TrimSpace(data)) == 0:
		return c, nil
	}
	if json.Unmarshal(data, c) != nil { // the error may contain a secret
		return nil, fmt.Errorf("read %s: it is not a credentials file in Docker's format", path)
	}
	return c, nil
}

// helper returns the helper program for key, or "" if there is none. The default helper
// (credsStore) is used for hosts, and for paths that the file lists: not for every part of
// a path.
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

// find returns the credentials for key, from a helper if there is one.
func (c *configFile) find(ctx context.Context, key string, host bool) (secret, error) {
	found, err := secret{}, error(nil)
	if h := c.helper(key, host); h != "" {
		found, err = h.get(ctx, serverOf(key))
	}
	if stored, listed := c.entry(key); found == (secret{}) && listed {
		var bad error
		if found, bad = stored.credential(); bad != nil {
			return found, fmt.Errorf("the stored credentials for %s are malformed", key)
		}
	}
	return found, err
}

// entry returns the entry for key or for its URL.
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

// DockerConfig returns Docker's credentials file according to the environment, or "" if it
// is not defined.
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
