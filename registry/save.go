// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moonhelm/moonhelm/internal/file"
)

// save stores a credential for key as Helm does: with the helper program that our
// file names, or where nothing is stored yet, with the one for the system's
// keychain, or else in the file.
func (c *Credentials) save(ctx context.Context, key string, s secret) error {
	ctx, cancel := c.patient(ctx)
	defer cancel()
	known, err := readConfig(c.File)
	if err != nil {
		return err
	}
	server := serverOf(key)
	h, names := known.helper(key, true), ""
	if h == "" && len(known.Auths) == 0 && len(known.CredHelpers) == 0 {
		h = systemHelper()
		names = string(h)
	}
	if h != "" {
		if err := h.store(ctx, server, s); err != nil {
			return err
		}
		if strings.Contains(key, "/") || names != "" {
			// Helpers are asked for paths that are listed.
			return c.edit(func(d document) error { return d.keptBy(names, server) })
		}
		return nil
	}
	entry := storedAuth{IdentityToken: s.identity}
	if s.user != "" {
		entry.Auth = base64.StdEncoding.EncodeToString([]byte(s.user + ":" + s.password))
	}
	return c.edit(func(d document) error { return d.put(server, entry) })
}

// remove forgets what is stored for key, and reports whether anything was.
func (c *Credentials) remove(ctx context.Context, key string) (bool, error) {
	ctx, cancel := c.patient(ctx)
	defer cancel()
	known, err := readConfig(c.File)
	if err != nil {
		return false, err
	}
	host := !strings.Contains(key, "/")
	had := false
	if h := known.helper(key, host); h != "" {
		found, err := h.get(ctx, serverOf(key))
		had = err != nil || found != (secret{})
		if err := h.erase(ctx, serverOf(key)); err != nil {
			return false, err
		}
	}
	if _, listed := known.entry(key); !listed {
		return had, nil
	}
	return true, c.edit(func(d document) error { return d.remove(serverOf(key)) })
}

// document is a file of credentials with all that is in it, also what only others
// know.
type document map[string]json.RawMessage

func (d document) auths() (map[string]json.RawMessage, error) {
	auths := map[string]json.RawMessage{}
	if len(d["auths"]) == 0 {
		return auths, nil
	}
	err := json.Unmarshal(d["auths"], &auths)
	if auths == nil { // "auths": null
		auths = map[string]json.RawMessage{}
	}
	return auths, err
}

func (d document) set(key string, value any) error {
	text, err := json.Marshal(value)
	d[key] = text
	return err
}

// put stores an entry in place of all that are for the same server.
func (d document) put(server string, entry storedAuth) error {
	if err := d.remove(server); err != nil {
		return err
	}
	auths, err := d.auths()
	if err != nil {
		return err
	}
	text, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	auths[server] = text
	return d.set("auths", auths)
}

// keptBy lists a server that a helper knows. store, if any, is the helper for
// everything from now on.
func (d document) keptBy(store, server string) error {
	if store != "" {
		if err := d.set("credsStore", store); err != nil {
			return err
		}
	}
	if strings.Contains(server, "/") && server != dockerHub {
		return d.put(server, storedAuth{})
	}
	auths, err := d.auths()
	if err != nil {
		return err
	}
	return d.set("auths", auths)
}

// remove removes all entries for a server.
func (d document) remove(server string) error {
	auths, err := d.auths()
	if err != nil {
		return err
	}
	for name := range auths {
		if keyOf(name) == server || name == server {
			delete(auths, name)
		}
	}
	return d.set("auths", auths)
}

// edit changes our file as a whole: a reader finds the old or the new
// one. Others cannot read it. A link is kept, and what it leads to is changed.
func (c *Credentials) edit(change func(document) error) error {
	path := c.File
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	d := document{}
	data, err := file.Read(path, maxConfigFile)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if len(bytes.TrimSpace(data)) > 0 && json.Unmarshal(data, &d) != nil {
		return fmt.Errorf("read %s: it is not a file of credentials in Docker's format", c.File)
	}
	if err := change(d); err != nil {
		return fmt.Errorf("change %s: it is not a file of credentials in Docker's format", c.File)
	}
	text, err := json.MarshalIndent(d, "", "\t")
	if err != nil {
		return err
	}
	return replaceFile(path, text)
}

// replaceFile writes a file that is new as a whole, for our eyes only.
func replaceFile(path string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".config-*.json") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
