// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/report"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/planfile"
	"github.com/moonhelm/moonhelm/provenance"
)

// save are the flags that keep a plan in a file.
type save struct {
	path      string
	recipient []string
	redact    bool
	plain     bool
	validFor  time.Duration

	sign           bool
	key            string
	keyring        string
	passphraseFile string

	// again are the chart and the flags that helm apply needs of a plan whose payload is left out.
	again string

	recipients []age.Recipient
	signer     *provenance.Signer
}

// bind registers the flags. Those about the payload are for plans that have one.
func (s *save) bind(cmd *cobra.Command, f *cmdutil.Factory, payload bool) {
	fs := cmd.Flags()
	fs.StringVar(&s.path, "save", "", "write the plan to this file, which helm apply does exactly; other flags of the "+
		"operation, such as --wait and --timeout, are kept in it")
	fs.DurationVar(&s.validFor, "valid-for", 0, "with --save, refuse to apply the plan after this time; 0 is no limit")
	if payload {
		cmdutil.StringArrayVarP(fs, &s.recipient, "seal-for", "",
			"with --save, encrypt the manifest and the values for this recipient of age (may be repeated)")
		fs.BoolVar(&s.redact, "redact", false,
			"with --save, leave the manifest and the values out: helm apply renders again, and compares digests")
		fs.BoolVar(&s.plain, "plain", false, "with --save, write Secrets to the file as they are")
	}
	fs.BoolVar(&s.sign, "sign", false, "with --save, write a signature beside the plan, FILE.prov, with --key")
	fs.StringVar(&s.key, "key", "", "key to sign with: a part of its user id, or its fingerprint")
	fs.StringVar(&s.passphraseFile, "passphrase-file", "",
		"file whose first line is the key's passphrase; - for standard input")
	if fs.Lookup("keyring") == nil {
		fs.StringVar(&s.keyring, "keyring", f.DefaultKeyring(),
			"keyring with the signing key: GnuPG's (pubring.gpg or pubring.kbx) or exported secret keys")
	}
	_ = cmd.MarkFlagFilename("save", "json") // the flag exists
}

// prepare checks the flags, and reads recipients and the signing key before anything else is done.
func (s *save) prepare(f *cmdutil.Factory, fs *pflag.FlagSet) (err error) {
	if s.path == "" {
		for _, name := range []string{"seal-for", "redact", "plain", "valid-for", "sign"} {
			if fs.Changed(name) {
				return fmt.Errorf("--%s needs --save FILE: it is about the file of the plan", name)
			}
		}
		return nil
	}
	if s.path == "-" {
		return hint.With(errors.New("--save - is standard output, where the differences are printed"),
			"name a file: helm plan show FILE prints the plan that it has")
	}
	if err := checkPath(s.path); err != nil {
		return err
	}
	ways := 0
	for _, on := range []bool{len(s.recipient) > 0, s.redact, s.plain} {
		if on {
			ways++
		}
	}
	if ways > 1 {
		return errors.New("--seal-for, --redact and --plain cannot be used together")
	}
	if s.validFor < 0 {
		return fmt.Errorf("--valid-for is %s, must not be negative", s.validFor)
	}
	if s.recipients, err = planfile.ParseRecipients(s.recipient); err != nil {
		return fmt.Errorf("--seal-for: %w", err)
	}
	if !s.sign {
		return nil
	}
	keyring := s.keyring
	if keyring == "" {
		keyring = fs.Lookup("keyring").Value.String()
	}
	s.signer, err = f.Signer(keyring, s.key, s.passphraseFile)
	return err
}

// wanted reports whether the plan is to be kept.
func (s *save) wanted() bool { return s.path != "" }

// around writes the plan, prints it with show, and then says where it is: what is printed may be long.
// Without --save it only prints.
func (s *save) around(ctx context.Context, f *cmdutil.Factory, doc *planfile.Document, show func() error) error {
	if s.path == "" || doc == nil {
		return show()
	}
	if err := s.write(ctx, doc); err != nil {
		return err
	}
	shown := show()
	if _, changes := errors.AsType[*cmdutil.ExitError](shown); shown != nil && !changes {
		return shown
	}
	if _, err := fmt.Fprintf(f.Err, "Saved the plan to %s: %s. Apply it with: helm apply %s\n", term.SafeLine(s.path),
		report.PlanSummary(doc), term.SafeLine(shellWord(s.path)+s.needed(doc))); err != nil {
		return err
	}
	return shown
}

// needed returns what helm apply needs besides the file of a plan.
func (s *save) needed(doc *planfile.Document) string {
	switch {
	case doc.Sealed != "":
		return " --identity FILE"
	case doc.Redacted:
		return " " + s.again
	}
	return ""
}

// renderAgain returns the chart and the flags of a command that say what is rendered. The values of
// --set are left out: they may be secret, and this is printed.
func renderAgain(fs *pflag.FlagSet, chart string) string {
	words := []string{shellWord(chart)}
	for _, name := range []string{"version", "repo", "devel", "values", "patch", "patch-allow-missing"} {
		flag := fs.Lookup(name)
		switch {
		case flag == nil || !flag.Changed:
		case flag.Value.Type() == "bool":
			words = append(words, "--"+name)
		default:
			list := []string{flag.Value.String()}
			if many, ok := flag.Value.(interface{ GetSlice() []string }); ok {
				list = many.GetSlice()
			}
			for _, value := range list {
				words = append(words, "--"+name, shellWord(value))
			}
		}
	}
	for _, name := range []string{"set", "set-string", "set-json", "set-file", "set-literal"} {
		if fs.Changed(name) {
			words = append(words, "--"+name+" ...")
		}
	}
	return strings.Join(words, " ")
}

// checkPath returns an error if no plan can be written to a path, before anything is planned.
func checkPath(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return hint.With(fmt.Errorf("--save %s is a directory", path),
			"name a file in it: --save "+shellWord(filepath.Join(path, "plan.json")))
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("--save %s: the directory %s does not exist", path, filepath.Dir(path))
	}
	return nil
}

// write writes the plan to its file, and the signature beside it.
func (s *save) write(ctx context.Context, doc *planfile.Document) error {
	if s.validFor > 0 {
		expires := doc.Created.Add(s.validFor)
		doc.Expires = &expires
	}
	switch {
	case len(s.recipients) > 0:
		if err := doc.Seal(s.recipients...); err != nil {
			return err
		}
	case s.redact:
		doc.Redact()
	case doc.Payload != nil && doc.HasSecrets() && !s.plain:
		return &secretsError{Path: s.path}
	}
	data, err := doc.Encode()
	if err != nil {
		return err
	}
	write := func(path string, data []byte) error {
		return file.WriteAtomic(path, 0o600, func(f *os.File) error {
			_, err := f.Write(data)
			return err
		})
	}
	if err := write(s.path, data); err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	if s.signer != nil {
		about := fmt.Sprintf("kind: %s\noperation: %s\nrelease: %s\n", doc.Kind, doc.Operation, doc.Release.Name)
		signature, err := s.signer.Sign(ctx, filepath.Base(s.path), bytes.NewReader(data), []byte(about))
		if err != nil {
			return fmt.Errorf("sign %s: %w", s.path, err)
		}
		if err := write(s.path+".prov", signature); err != nil {
			return fmt.Errorf("--sign: %w", err)
		}
	}
	return nil
}

// shellWord returns a word quoted for a shell where it needs to be.
func shellWord(text string) string {
	if strings.IndexFunc(text, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/", r)
	}) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// A secretsError is returned for a plan with Secrets without a flag that says what to do with them.
type secretsError struct{ Path string }

func (e *secretsError) Error() string {
	return fmt.Sprintf("the plan has Secrets, and would have their data in %s", e.Path)
}

// Hint names the flags.
func (e *secretsError) Hint() string {
	return "--seal-for RECIPIENT encrypts it with age; --redact leaves it out, and helm apply renders again; " +
		"--plain writes it as it is"
}
