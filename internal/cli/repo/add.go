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
	Replace       bool // replace an existing repository of the same name
	Expired       bool // allow Helm's discontinued repositories
	NoUpdate      bool // no effect
	Timeout       time.Duration
}

// defaultTimeout limits the download of an index.
const defaultTimeout = 2 * time.Minute

func newAdd(f *cmdutil.Factory) *cobra.Command {
	var o addOptions
	cmd := &cobra.Command{
		Use:   "add NAME URL",
		Short: "Add a repository",
		Long: `Add a chart repository. Its index is downloaded and validated first.

User name and password are stored in the repositories file, which only you can read,
and sent to the repository's host only. OCI registries need not be added: use the
full address of a chart, oci://HOST/PATH/NAME.`,
		Example: `  helm repo add example https://charts.example.com
  helm repo add private https://private.example.com --username ann --password-stdin <secret.txt`,
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
	fs.StringVar(&o.Username, "username", "", "user name for the repository")
	fs.StringVar(&o.Password, "password", "",
		"password for the repository (visible to other processes: prefer --password-stdin)")
	fs.BoolVar(&o.PasswordStdin, "password-stdin", false, "read the password from standard input")
	fs.BoolVar(&o.PassAll, "pass-credentials", false,
		"send the credentials to other hosts too, if the repository refers to them")
	fs.BoolVar(&o.PassAll, "pass-credentials-all", false, "same as --pass-credentials")
	fs.BoolVar(&o.Replace, "force-update", false, "replace an existing repository of the same name")
	fs.BoolVar(&o.NoUpdate, "no-update", false, "accepted but ignored")
	fs.BoolVar(&o.Expired, "allow-deprecated-repos", false,
		"allow Helm's original repositories, which are discontinued")
	fs.DurationVar(&o.Timeout, "timeout", defaultTimeout, "time to wait for the index")
	o.BindTLS(fs)
	for _, name := range []string{"pass-credentials-all", "no-update"} {
		_ = fs.MarkHidden(name) // the flags exist: they are registered above
	}
}

func (o *addOptions) run(ctx context.Context, f *cmdutil.Factory, name, address string) error {
	if err := o.readPassword(ctx, f); err != nil {
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

// maxPassword is the length of the longest password, in bytes.
const maxPassword = 64 << 10

// readPassword reads a missing password from standard input or the terminal.
func (o *addOptions) readPassword(ctx context.Context, f *cmdutil.Factory) error {
	switch {
	case o.PasswordStdin && o.Password != "":
		return errors.New("--password and --password-stdin cannot be used together")
	case o.PasswordStdin && f.In == nil:
		return errors.New("--password-stdin: no standard input")
	case o.PasswordStdin:
		text, err := term.ReadUntil(ctx, f.In, maxPassword+1)
		if err != nil {
			return fmt.Errorf("--password-stdin: %w", err)
		}
		if len(text) > maxPassword {
			return fmt.Errorf("--password-stdin: longer than %d KiB, not a password", maxPassword>>10)
		}
		o.Password = strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
		return nil
	case o.Username == "" || o.Password != "":
		return nil
	case !f.Interactive():
		return hint.With(fmt.Errorf("the password of user %s is missing, and there is no terminal to ask for it", o.Username),
			"--password-stdin reads it from standard input")
	}
	answer, err := f.AskSecretUntil(ctx, "Password: ")
	o.Password = answer
	return err
}
