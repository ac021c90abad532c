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

// save stores credentials for key as Helm does: in the helper that the file configures, or
// if no credentials are stored yet, in the helper of the system's keychain, or else in the
// file.
func (c *Credentials) save(ctx context.Context, key string, s secret) error {
	ctx, cancel := c.withTimeout(ctx)
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
			// Helpers are used only for paths in the file.
			return c.edit(func(d document) error { return d.addHelperEntry(names, server) })
		}
		return nil
	}
	entry := storedAuth{IdentityToken: s.identity}
	if s.user != "" {
		entry.Auth = base64.StdEncoding.EncodeToString([]byte(s.user + ":" + s.password))
	}
	return c.edit(func(d document) error { return d.put(server, entry) })
}

// remove removes the credentials for key and reports whether there were any.
func (c *Credentials) remove(ctx context.Context, key string) (bool, error) {
	ctx, cancel := c.withTimeout(ctx)
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

// document is a credentials file with all its keys, including those of other programs.
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

// put stores an entry and removes the server's other entries.
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

// addHelperEntry lists a server whose credentials a helper has. If store is not "", it
// becomes the default helper.
func (d document) addHelperEntry(store, server string) error {
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

// remove removes all entries of a server.
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

// edit changes the credentials file atomically, with mode 0600. If the file is a symbolic
// link, its target is changed.
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
		return fmt.Errorf("read %s: it is not a credentials file in Docker's format", c.File)
	}
	if err := change(d); err != nil {
		return fmt.Errorf("change %s: it is not a credentials file in Docker's format", c.File)
	}
	text, err := json.MarshalIndent(d, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return file.WriteAtomic(path, 0o600, func(f *os.File) error {
		_, err := f.Write(text)
		return err
	})
}
