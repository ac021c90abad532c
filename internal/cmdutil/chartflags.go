// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/fetch"
)

// AccessFlags say how to reach a repository or a registry.
type AccessFlags struct {
	Username, Password string
	CertFile, KeyFile  string
	CAFile             string
	SkipTLS            bool
	PlainHTTP          bool
}

// BindTLS registers the flags about certificates.
func (a *AccessFlags) BindTLS(fs *pflag.FlagSet) {
	fs.StringVar(&a.CertFile, "cert-file", "", "client certificate, in PEM")
	fs.StringVar(&a.KeyFile, "key-file", "", "key of the client certificate, in PEM")
	fs.StringVar(&a.CAFile, "ca-file", "", "certificate authorities to trust, in PEM")
	fs.BoolVar(&a.SkipTLS, "insecure-skip-tls-verify", false,
		"do not check the server's certificate (makes connections insecure)")
}

// BindPlain registers --plain-http.
func (a *AccessFlags) BindPlain(fs *pflag.FlagSet) {
	fs.BoolVar(&a.PlainHTTP, "plain-http", false, "speak HTTP without TLS to OCI registries")
}

// HostOptions is what the flags come to.
func (a *AccessFlags) HostOptions() fetch.HostOptions {
	return fetch.HostOptions{
		Username: a.Username, Password: a.Password, CertFile: a.CertFile, KeyFile: a.KeyFile,
		CAFile: a.CAFile, SkipTLS: a.SkipTLS, PlainHTTP: a.PlainHTTP,
	}
}

// VerifyFlags say whether provenance is checked, and with whose keys.
type VerifyFlags struct {
	Verify  bool
	Keyring string
}

// Bind registers the flags.
func (v *VerifyFlags) Bind(fs *pflag.FlagSet, f *Factory) {
	fs.BoolVar(&v.Verify, "verify", false, "use the chart only if its provenance file vouches for it")
	v.BindKeyring(fs, f)
}

// BindKeyring registers --keyring alone.
func (v *VerifyFlags) BindKeyring(fs *pflag.FlagSet, f *Factory) {
	fs.StringVar(&v.Keyring, "keyring", f.DefaultKeyring(),
		"keyring with the public keys to verify with: GnuPG's, old or new, or exported keys")
}

// DefaultKeyring is where GnuPG keeps public keys, in its old form.
func (f *Factory) DefaultKeyring() string {
	if home := f.Getenv("GNUPGHOME"); home != "" {
		return filepath.Join(home, "pubring.gpg")
	}
	return filepath.Join(f.Getenv("HOME"), ".gnupg", "pubring.gpg")
}

// ChartFlags are the flags that say where a chart comes from and how to reach
// it there. A chart on disk takes no notice of them but for --verify.
type ChartFlags struct {
	AccessFlags
	VerifyFlags
	Repo    string
	Version string
	Devel   bool
	passAll bool

	update  bool
	scripts *ScriptFlags
}

// BindUpdate registers --dependency-update. scripts are the flags for scripts of
// the same command, which the chart's scripts run by then too.
func (c *ChartFlags) BindUpdate(fs *pflag.FlagSet, scripts *ScriptFlags) {
	c.scripts = scripts
	fs.BoolVar(&c.update, "dependency-update", false,
		"fetch the dependencies that the chart's directory lacks (see helm dependency update)")
}

// Bind registers the flags.
func (c *ChartFlags) Bind(cmd *cobra.Command, f *Factory) {
	fs := cmd.Flags()
	fs.StringVar(&c.Version, "version", "", "version of the chart, or a range such as ^1.2 or 1.x; the "+
		"newest release if not given")
	_ = cmd.RegisterFlagCompletionFunc("version", f.completeVersion) // the flag exists: it was registered one line above
	fs.StringVar(&c.Repo, "repo", "", "URL of the repository that has the chart; it need not have been added")
	fs.BoolVar(&c.Devel, "devel", false, "take pre-releases too, where no --version says otherwise")
	fs.StringVar(&c.Username, "username", "", "user name at the chart's repository")
	fs.StringVar(&c.Password, "password", "", "password at the chart's repository")
	fs.BoolVar(&c.passAll, "pass-credentials", false,
		"send user name and password to other hosts too, where the repository leads there")
	c.BindTLS(fs)
	c.BindPlain(fs)
	c.VerifyFlags.Bind(fs, f)
}

// Ref is the chart of that name as the flags want it.
func (c *ChartFlags) Ref(name string) fetch.Ref {
	access := c.HostOptions()
	access.PassAll = c.passAll
	return fetch.Ref{Name: name, Version: c.Version, Devel: c.Devel, Repo: c.Repo, Host: access, Verify: c.Verify}
}
