// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

// Credentials are the files in which credentials for registries are stored, in
// Docker's format: as text, or with helper programs (docker-credential-...).
type Credentials struct {
	// File is ours and Helm's; logins and logouts are written to it.
	File string
	// Docker is Docker's, which is only read; "" for none.
	Docker string
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
	Auth          string `json:"auth"` // base64 of name:password
	Username      string `json:"username"`
	Password      string `json:"password"`
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// find looks for credentials for what is at ref: those stored for the longest
// part of its path first, the host's last; of two files with the same, ours goes
// first. When nothing is found, the error says what could not be read.
func (c *Credentials) find(ctx context.Context, ref Ref) (auth.Credential, error) {
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
			found, err := f.find(ctx, key, key == ref.Host)
			if err != nil {
				trouble = append(trouble, err)
			}
			if found != auth.EmptyCredential {
				return found, nil
			}
		}
	}
	return auth.EmptyCredential, errors.Join(trouble...)
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
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfigFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	case len(data) > maxConfigFile:
		return nil, fmt.Errorf("read %s: larger than %d MiB", path, maxConfigFile>>20)
	case len(bytes.TrimSpace(data)) == 0:
		return c, nil
	}
	if json.Unmarshal(data, c) != nil { // its text may quote a secret
		return nil, fmt.Errorf("read %s: it is no file of credentials in Docker's format", path)
	}
	return c, nil
}

// find looks for key. Helper programs are asked about hosts, and about paths that
// the file lists: not about every part of a path.
func (c *configFile) find(ctx context.Context, key string, host bool) (auth.Credential, error) {
	server := serverOf(key)
	stored, listed := c.entry(key)
	helper := ""
	if host || listed {
		helper = c.CredsStore
	}
	for name, program := range c.CredHelpers {
		if keyOf(name) == server {
			helper = program
		}
	}
	found, err := auth.EmptyCredential, error(nil)
	if helper != "" {
		found, err = askHelper(ctx, helper, server)
	}
	if found == auth.EmptyCredential && listed {
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

func (s storedAuth) credential() (auth.Credential, error) {
	out := auth.Credential{Username: s.Username, Password: s.Password, RefreshToken: s.IdentityToken, AccessToken: s.RegistryToken}
	if s.Auth != "" {
		text, err := base64.StdEncoding.DecodeString(s.Auth)
		user, password, ok := strings.Cut(string(text), ":")
		if err != nil || !ok {
			return auth.EmptyCredential, errors.New("malformed")
		}
		out.Username, out.Password = user, strings.TrimRight(password, "\x00")
	}
	return out, nil
}

func askHelper(ctx context.Context, helper, server string) (auth.Credential, error) {
	if strings.ContainsAny(helper, `/\`) {
		return auth.EmptyCredential, fmt.Errorf("%q is no name of a program that keeps credentials", helper)
	}
	found, err := credentials.NewNativeStore(helper).Get(ctx, server)
	if err != nil {
		return auth.EmptyCredential, fmt.Errorf("docker-credential-%s, which keeps the credentials for %s: %w", helper, server, err)
	}
	return found, nil
}

// save stores a credential for key as Helm does: with the helper program that the
// file names, or where it is new, with one that the system has for its own
// keychain, or else in the file.
func (c *Credentials) save(ctx context.Context, key string, secret auth.Credential) error {
	store, err := c.open(true)
	if err != nil {
		return err
	}
	if err := store.Put(ctx, serverOf(key), secret); err != nil {
		return fmt.Errorf("store the credentials for %s: %w", key, err)
	}
	return nil
}

// remove forgets what is stored for key, and tells whether anything was.
func (c *Credentials) remove(ctx context.Context, key string) (bool, error) {
	before, err := readConfig(c.File)
	if err != nil {
		return false, err
	}
	found, _ := before.find(ctx, key, !strings.Contains(key, "/")) // what cannot be read can be removed
	store, err := c.open(false)
	if err != nil {
		return false, err
	}
	names := []string{serverOf(key)}
	for name := range before.Auths {
		if keyOf(name) == serverOf(key) && name != serverOf(key) {
			names = append(names, name)
		}
	}
	_, listed := before.entry(key)
	if !listed && before.CredsStore == "" && len(before.CredHelpers) == 0 {
		return false, nil // nothing to write
	}
	for _, name := range names {
		if err := store.Delete(ctx, name); err != nil {
			return false, fmt.Errorf("remove the credentials for %s: %w", key, err)
		}
	}
	return listed || found != auth.EmptyCredential, nil
}

// open opens our file for writing. A link to it is kept, and what it leads to is
// written.
func (c *Credentials) open(detect bool) (*credentials.DynamicStore, error) {
	path := c.File
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	store, err := credentials.NewStore(path, credentials.StoreOptions{AllowPlaintextPut: true, DetectDefaultNativeStore: detect})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", c.File, err)
	}
	return store, nil
}
