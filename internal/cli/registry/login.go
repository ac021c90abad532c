// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/registry"
)

// LoginOptions are the flags of `helm registry login`.
type LoginOptions struct {
	cmdutil.AccessFlags
	Host          string
	PasswordStdin bool
}

func newLogin(f *cmdutil.Factory) *cobra.Command {
	var o LoginOptions
	cmd := &cobra.Command{
		Use:   "login HOST[/PATH]",
		Short: "Log in to a registry",
		Long: `Log in to a registry: validate user name and password, and store them
with the credential helper in the registry configuration (credsStore or
credHelpers, as in Docker's), or in $HELM_REGISTRY_CONFIG, which only you can read.
With a path, the credentials are for repositories below it; those with the longest
matching path are used. Credentials of docker login are used too.

The password is asked for, unless it is given. If the user name is empty, it is an
identity token.`,
		Example: `  echo "$TOKEN" | helm registry login registry.example.com -u ann --password-stdin
  echo "$TOKEN" | helm registry login registry.example.com/charts -u ann --password-stdin`,
		Args:              cmdutil.Args(1, 1, "the registry's host"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Host = args[0]
			return login(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&o.Username, "username", "u", "", "user name")
	fs.StringVarP(&o.Password, "password", "p", "",
		"password or identity token (visible to other processes: prefer --password-stdin)")
	fs.BoolVar(&o.PasswordStdin, "password-stdin", false, "read the password or identity token from standard input")
	o.BindTLS(fs)
	fs.BoolVar(&o.SkipTLS, "insecure", false, "skip verification of the registry's certificate (insecure)")
	_ = fs.MarkHidden("insecure-skip-tls-verify") // the flag exists: it is registered above
	o.BindPlain(fs)
	return cmd
}

func login(ctx context.Context, f *cmdutil.Factory, o LoginOptions) error {
	ref, err := parseHost(o.Host)
	if err != nil {
		return err
	}
	if err := o.ask(ctx, f); err != nil {
		return err
	}
	client, err := f.Registry().Client(ctx, o.HostOptions())
	if err != nil {
		return err
	}
	if err := client.Login(ctx, ref); err != nil {
		return err
	}
	_, err = fmt.Fprintln(f.Out, "Login Succeeded")
	return err
}

// maxPassword is the size of the largest password on standard input, in bytes.
const maxPassword = 1 << 20

// ask reads a missing user name and password from standard input or the terminal.
func (o *LoginOptions) ask(ctx context.Context, f *cmdutil.Factory) error {
	switch {
	case o.PasswordStdin && o.Password != "":
		return fmt.Errorf("--password and --password-stdin cannot be used together")
	case o.PasswordStdin:
		if f.In == nil {
			return fmt.Errorf("--password-stdin: no standard input")
		}
		text, err := term.ReadUntil(ctx, f.In, maxPassword)
		if err != nil {
			return fmt.Errorf("--password-stdin: %w", err)
		}
		o.Password = strings.TrimRight(string(text), "\r\n")
		if o.Password == "" {
			return fmt.Errorf("--password-stdin: standard input is empty")
		}
		return nil
	case o.Password != "":
		return nil
	case !f.Interactive() && o.Username != "":
		return fmt.Errorf("log in to %s: the password is missing, and there is no terminal to ask on: use --password-stdin",
			o.Host)
	case !f.Interactive():
		return fmt.Errorf("log in to %s: user name and password are missing, and there is no terminal to ask on: use "+
			"--username and --password-stdin", o.Host)
	}
	var err error
	if o.Username == "" {
		if o.Username, err = f.AskUntil(ctx, "Username: "); err != nil {
			return answerError(ctx, o.Host, "user name")
		}
	}
	question := "Password: "
	if o.Username == "" {
		question = "Token: "
	}
	if o.Password, err = f.AskSecretUntil(ctx, question); err != nil || o.Password == "" {
		return answerError(ctx, o.Host, "password")
	}
	return nil
}

// answerError returns the error for a question that was not answered, or interrupted.
func answerError(ctx context.Context, host, what string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("log in to %s: no %s given", host, what)
}

// parseHost parses a registry's address, with an optional https://.
func parseHost(text string) (registry.Ref, error) {
	if rest, ok := strings.CutPrefix(text, "https://"); ok {
		text = rest
	}
	if strings.HasPrefix(text, "http://") {
		return registry.Ref{}, fmt.Errorf("%s: give the host alone; --plain-http uses HTTP without TLS", text)
	}
	return registry.ParseRef(text)
}
