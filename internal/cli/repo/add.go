// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/term"
)

// addOptions are the flags of `helm repo add`.
type addOptions struct {
	cmdutil.AccessFlags
	PassAll       bool
	PasswordStdin bool
	Replace       bool // an existing repository of that name
	Expired       bool // repositories that are gone for good, too
	NoUpdate      bool // without effect
	Timeout       time.Duration
}

// defaultTimeout is how long an index may take.
const defaultTimeout = 2 * time.Minute

func newAdd(f *cmdutil.Factory) *cobra.Command {
	var o addOptions
	cmd := &cobra.Command{
		Use:   "add NAME URL",
		Short: "Add a repository",
		Long: `Add the chart repository at URL under a name. Its index is fetched and checked first.

  helm repo add mine https://charts.example.com
  helm repo add mine https://charts.example.com --username me --password-stdin <secret.txt

User name and password are kept in the file of repositories, which only you may read,
and sent to the repository's host only. OCI registries are not added: their charts are
named by their whole address, oci://HOST/PATH/NAME.`,
		Args:              cmdutil.Args(2, 2, "a name and the URL of a repository"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), f, args[0], args[1])
		},
	}
	o.bind(cmd)
	return cmd
}

func (o *addOptions) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&o.Username, "username", "", "user name at the repository")
	fs.StringVar(&o.Password, "password", "", "password at the repository; other programs may see it here")
	fs.BoolVar(&o.PasswordStdin, "password-stdin", false, "read the password from standard input")
	fs.BoolVar(&o.PassAll, "pass-credentials", false,
		"send user name and password to other hosts too, where the repository leads there")
	fs.BoolVar(&o.PassAll, "pass-credentials-all", false, "another name of --pass-credentials")
	fs.BoolVar(&o.Replace, "force-update", false, "replace a repository of that name")
	fs.BoolVar(&o.NoUpdate, "no-update", false, "accepted and without effect")
	fs.BoolVar(&o.Expired, "allow-deprecated-repos", false,
		"add Helm's own first repositories too, which are gone for good")
	fs.DurationVar(&o.Timeout, "timeout", defaultTimeout, "how long the index may take to arrive")
	o.BindTLS(fs)
	for _, name := range []string{"pass-credentials-all", "no-update"} {
		_ = fs.MarkHidden(name) // the flags exist: they were registered above
	}
}

func (o *addOptions) run(ctx context.Context, f *cmdutil.Factory, name, address string) error {
	if err := o.secret(ctx, f); err != nil {
		return err
	}
	repositories := f.Collection()
	repositories.Timeout = o.Timeout
	added, err := repositories.Add(ctx, o.Entry(name, address, o.PassAll), o.Replace, o.Expired)
	if err != nil {
		return err
	}
	words := "%q already exists with the same configuration, skipping\n"
	if added {
		words = "%q has been added to your repositories\n"
	}
	_, err = fmt.Fprintf(term.SafeWriter(f.Out), words, name)
	return err
}

// maxPassword is the longest password that is read, in bytes.
const maxPassword = 64 << 10

// secret gets the password that goes with a user name from where it is.
func (o *addOptions) secret(ctx context.Context, f *cmdutil.Factory) error {
	switch {
	case o.PasswordStdin && o.Password != "":
		return errors.New("--password and --password-stdin cannot be used together")
	case o.PasswordStdin && f.In == nil:
		return errors.New("--password-stdin: there is no standard input")
	case o.PasswordStdin:
		text, err := term.ReadUntil(ctx, f.In, maxPassword+1)
		if err != nil {
			return fmt.Errorf("--password-stdin: %w", err)
		}
		if len(text) > maxPassword {
			return fmt.Errorf("--password-stdin: longer than %d KiB, that is not a password", maxPassword>>10)
		}
		o.Password = strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
		return nil
	case o.Username == "" || o.Password != "":
		return nil
	case !f.Interactive():
		return hint.With(fmt.Errorf("there is a user name (%s) and no password, and no terminal to ask for it", o.Username),
			"--password-stdin reads it from standard input")
	}
	answer, err := f.AskSecretUntil(ctx, "Password: ")
	o.Password = answer
	return err
}
