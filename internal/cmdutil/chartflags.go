// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/fetch"
)

// AccessFlags are the flags for access to a repository or registry.
type AccessFlags struct {
	Username, Password string
	CertFile, KeyFile  string
	CAFile             string
	SkipTLS            bool
	PlainHTTP          bool
}

// BindTLS registers the TLS flags.
func (a *AccessFlags) BindTLS(fs *pflag.FlagSet) {
	fs.StringVar(&a.CertFile, "cert-file", "", "client certificate, in PEM")
	fs.StringVar(&a.KeyFile, "key-file", "", "key of the client certificate, in PEM")
	fs.StringVar(&a.CAFile, "ca-file", "", "certificate authorities to trust, in PEM")
	fs.BoolVar(&a.SkipTLS, "insecure-skip-tls-verify", false,
		"skip verification of the server's certificate (insecure)")
}

// BindPlain registers --plain-http.
func (a *AccessFlags) BindPlain(fs *pflag.FlagSet) {
	fs.BoolVar(&a.PlainHTTP, "plain-http", false, "use HTTP without TLS for OCI registries")
}

// HostOptions returns the flags as options of package fetch.
func (a *AccessFlags) HostOptions() fetch.HostOptions {
	return fetch.HostOptions{
		Username: a.Username, Password: a.Password, CertFile: a.CertFile, KeyFile: a.KeyFile,
		CAFile: a.CAFile, SkipTLS: a.SkipTLS, PlainHTTP: a.PlainHTTP,
	}
}

// VerifyFlags are the flags for the verification of provenance.
type VerifyFlags struct {
	Verify  bool
	Keyring string
}

// Bind registers the flags.
func (v *VerifyFlags) Bind(fs *pflag.FlagSet, f *Factory) {
	fs.BoolVar(&v.Verify, "verify", false, "verify the chart's provenance file before using the chart")
	v.BindKeyring(fs, f)
}

// BindKeyring registers --keyring alone.
func (v *VerifyFlags) BindKeyring(fs *pflag.FlagSet, f *Factory) {
	fs.StringVar(&v.Keyring, "keyring", f.DefaultKeyring(),
		"keyring with the public keys for verification: GnuPG's (pubring.gpg or pubring.kbx) or exported keys")
}

// DefaultKeyring returns the path of GnuPG's keyring of public keys in its old format.
func (f *Factory) DefaultKeyring() string {
	if home := f.Getenv("GNUPGHOME"); home != "" {
		return filepath.Join(home, "pubring.gpg")
	}
	return filepath.Join(f.Getenv("HOME"), ".gnupg", "pubring.gpg")
}

// ChartFlags are the flags for the source of a chart. For a chart on disk only --verify applies.
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

// BindUpdate registers --dependency-update. scripts are the command's flags for scripts: updating
// dependencies runs the chart's scripts too.
func (c *ChartFlags) BindUpdate(fs *pflag.FlagSet, scripts *ScriptFlags) {
	c.scripts = scripts
	fs.BoolVar(&c.update, "dependency-update", false,
		"fetch missing dependencies of the chart directory (see helm dependency update)")
}

// Bind registers the flags.
func (c *ChartFlags) Bind(cmd *cobra.Command, f *Factory) {
	fs := cmd.Flags()
	fs.StringVar(&c.Version, "version", "", "version of the chart, or a range such as ^1.2 or 1.x (default: the "+
		"newest release)")
	_ = cmd.RegisterFlagCompletionFunc("version", f.completeVersion) // the flag exists: it is registered above
	fs.StringVar(&c.Repo, "repo", "", "URL of the chart's repository, which need not have been added")
	fs.BoolVar(&c.Devel, "devel", false, "accept pre-releases too; ignored with --version")
	fs.StringVar(&c.Username, "username", "", "user name for the chart's repository")
	fs.StringVar(&c.Password, "password", "", "password for the chart's repository")
	fs.BoolVar(&c.passAll, "pass-credentials", false,
		"send the credentials to other hosts too, if the repository refers to them")
	c.BindTLS(fs)
	c.BindPlain(fs)
	c.VerifyFlags.Bind(fs, f)
}

// Ref returns a reference to the chart called name with the flags' options.
func (c *ChartFlags) Ref(name string) fetch.Ref {
	access := c.HostOptions()
	access.PassAll = c.passAll
	return fetch.Ref{Name: name, Version: c.Version, Devel: c.Devel, Repo: c.Repo, Host: access, Verify: c.Verify}
}
