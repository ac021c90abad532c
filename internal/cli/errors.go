// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/env"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/provenance"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// explain is what a person reads when a command has failed: the error, and what
// to do about it where that is known.
func explain(err error, e *env.Env) string {
	st := e.Style(e.Err)
	var b strings.Builder
	if errors.Is(err, context.Canceled) && untouched(err) { // there is nothing to look after
		text := strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted")
		return withoutPasswords(fmt.Sprintf("%s %s\n", st.Red("Error:"), indented(text)))
	}
	fmt.Fprintf(&b, "%s %s\n", st.Red("Error:"), indented(err.Error()))
	for _, h := range hints(err) {
		fmt.Fprintf(&b, "%s %s\n", st.Cyan("hint:"), indented(h))
	}
	if e.Settings.Debug {
		b.WriteString(st.Dim(chain(err)))
	}
	return withoutPasswords(b.String())
}

// indented is text for a terminal whose further lines all begin with a blank:
// text from charts and their scripts can so not forge lines of helm's own, which
// begin with "Error:", "hint:" or "Allow?".
func indented(text string) string {
	lines := strings.Split(term.Safe(text), "\n")
	for i, line := range lines {
		if i > 0 && strings.TrimSpace(line) != "" && line[0] != ' ' && line[0] != '\t' {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

// hints say what to do about err. Core packages return typed errors; what a
// user of the command line can type about them is known only here.
func hints(err error) []string {
	var (
		usage       *env.UsageError
		unknown     *unknownCommandError
		notFound    *storage.NotFoundError
		noRelease   *action.NoReleaseError
		noEarlier   *action.NoEarlierError
		locked      *lock.LockedError
		lockLost    *lock.LostError
		usedUp      *action.RevisionsError
		unreadable  *storage.UnreadableError
		tooLarge    *storage.TooLargeError
		database    *storage.DatabaseError
		generation  *release.UnsupportedError
		changed     *storage.ChangedError
		overtaken   *action.OvertakenError
		permissions *kube.PermissionError
		noKind      *kube.NoMatchError
		inUse       *action.NameInUseError
		noConfig    *env.KubeconfigError
		conflict    *kube.ConflictError
		contested   *kube.ApplyConflictError
		taken       *action.HookConflictError
		outside     *action.OutsideError
		noChart     *action.ChartNotFoundError
		dependency  *action.DependencyError
		forbidden   *kube.ForbiddenError
		noServer    *kube.UnreachableError
		noKubeVers  *action.KubeVersionError
		gone        *action.AlreadyUninstalledError
		waited      *kube.WaitError
		scripts     *script.Error
		hinted      *env.HintError
		writing     *action.ApplyOptionsError
		invalid     *kube.ValidationError
	)
	switch {
	case errors.As(err, &hinted):
		return []string{hinted.Hint}
	case registryHints(err) != nil:
		return registryHints(err)
	case repoHints(err) != nil:
		return repoHints(err)
	case provenanceHint(err) != "":
		return []string{provenanceHint(err)}
	case pluginHints(err) != nil:
		return pluginHints(err)
	case fetchHints(err) != nil:
		return fetchHints(err)
	case dependencyHints(err) != nil:
		return dependencyHints(err)
	case errors.As(err, &usage):
		return []string{"usage: " + usage.Usage, fmt.Sprintf("%s --help tells more", usage.Command)}
	case errors.As(err, &unknown):
		if unknown.Instead != "" {
			return nil
		}
		if len(unknown.Near) > 0 {
			return []string{"did you mean: helm " + strings.Join(unknown.Near, ", helm ")}
		}
		return []string{"helm --help lists the commands"}
	case errors.As(err, &notFound):
		if notFound.Revision > 0 {
			return []string{fmt.Sprintf("helm history %s lists its revisions", notFound.Name)}
		}
		return []string{"helm list --all-namespaces shows what is installed; -n chooses the namespace"}
	case errors.As(err, &noRelease) && noRelease.Uninstalled:
		return []string{fmt.Sprintf("helm rollback %[1]s brings it back as it was; helm upgrade --install %[1]s installs it anew", noRelease.Name)}
	case errors.As(err, &noRelease):
		return []string{fmt.Sprintf("helm upgrade --install %s installs it; helm list --all-namespaces shows what there is", noRelease.Name)}
	case errors.As(err, &noEarlier):
		return []string{fmt.Sprintf("helm history %s lists its revisions", noEarlier.Name)}
	case errors.As(err, &overtaken):
		return []string{fmt.Sprintf("helm history %s shows what becomes of it", overtaken.Name)}
	case errors.As(err, &locked):
		return lockedHints(locked)
	case errors.As(err, &usedUp):
		return []string{fmt.Sprintf("no release comes so far by itself: look at helm history %s, and delete the records that are not yours "+
			"(kubectl delete secret sh.helm.release.v1.%s.v%d)", usedUp.Name, usedUp.Name, usedUp.Revision)}
	case errors.As(err, &generation) && errors.As(err, &unreadable):
		return []string{fmt.Sprintf("a client of another generation has written it, and it was left as it is: use that client for release %[1]s, "+
			"or restore a record of this generation from a backup; helm history %[1]s shows which revisions are meant", unreadable.Name)}
	case errors.As(err, &unreadable):
		return []string{fmt.Sprintf("helm history %[1]s shows which revisions are damaged; one that cannot be restored from a backup can be deleted: "+
			"kubectl delete secret sh.helm.release.v1.%[1]s.v%[2]d -n %[3]s", unreadable.Name, unreadable.Revision, unreadable.Namespace)}
	case errors.As(err, &tooLarge):
		return []string{"leave files out that the chart does not need (.helmignore), or use HELM_DRIVER=sql"}
	case errors.As(err, &database):
		return []string{"HELM_DRIVER_SQL_CONNECTION_STRING is the connection string"}
	case errors.Is(err, action.ErrNoName):
		return []string{"give one, or --generate-name"}
	case errors.As(err, &lockLost):
		return []string{fmt.Sprintf("nothing was written since; helm status %[1]s and helm history %[1]s show how the release is now", lockLost.Release)}
	case errors.As(err, &changed):
		return []string{fmt.Sprintf("helm history %s shows what the other client did; then try again", changed.Name)}
	case errors.As(err, &writing) && writing.ForceReplace:
		return []string{"--server-side=false with --force-replace replaces the objects; with server-side apply the annotation helm.sh/replace: \"true\" replaces one that cannot be updated"}
	case errors.As(err, &contested):
		return []string{"--conflicts=yield leaves these fields to their managers, --conflicts=take takes them over; the annotation " + plan.OwnershipAnnotation + " says it for one object"}
	case errors.As(err, &writing):
		return []string{"--conflicts and --force-conflicts are for server-side apply: leave them out, or use --server-side=true"}
	case errors.As(err, &inUse):
		return inUseHints(inUse)
	case errors.As(err, &gone):
		return []string{fmt.Sprintf("helm uninstall %s, without --keep-history, removes its history too", gone.Name)}
	case errors.As(err, &noConfig):
		return []string{"point KUBECONFIG or --kubeconfig at your cluster's file, or choose a context with --kube-context"}
	case isUntrusted(err):
		return []string{"the kubeconfig's certificate-authority does not vouch for this server: --kube-ca-file names another, --kube-tls-server-name the name that the certificate bears"}
	case errors.As(err, &noServer):
		return []string{"kubernetes cluster unreachable: is it running, and is this its address? helm takes it from the kubeconfig's current context; --kube-context chooses another, --kube-apiserver names one"}
	case errors.As(err, &forbidden), errors.As(err, &permissions):
		return []string{"ask whoever runs the cluster for what is missing, or use another user: --kube-context, --kube-as-user"}
	case errors.As(err, &invalid) && invalid.Unknown():
		return []string{"--disable-openapi-validation leaves it to the API server, which then only warns of fields that it does not know, and drops them"}
	case errors.As(err, &conflict):
		return []string{"--take-ownership takes them over; otherwise delete them, or choose other names"}
	case errors.As(err, &taken):
		return []string{"--take-ownership lets hooks replace it; otherwise delete it, or give the hook another name"}
	case errors.As(err, &outside):
		return []string{"helm get hooks " + outside.Release + " shows them; --yes accepts them, HELM_ACCEPT_STORED_HOOKS=true does so for every command; uninstall and rollback --no-hooks do without hooks"}
	case errors.As(err, &noChart) && errors.As(err, &dependency): // its file:// leads nowhere
		return noChartHints("")
	case errors.As(err, &noChart):
		return noChartHints(noChart.Ref)
	case errors.As(err, &noKind):
		return []string{"definitions in a chart's crds/ are created by an install only: helm upgrade --crds upgrade creates and updates them too"}
	case errors.As(err, &noKubeVers):
		return []string{"helm template --kube-version renders for another version"}
	case errors.As(err, &waited) && errors.Is(waited.Err, context.DeadlineExceeded):
		return []string{"--timeout gives it more time; helm status tells how it is now"}
	case isNoNamespace(err):
		return []string{"helm install --create-namespace makes the namespace too; -n chooses another"}
	case unknownFieldHints(err) != nil:
		return unknownFieldHints(err)
	case errors.As(err, &scripts):
		return scriptHints(scripts)
	case errors.Is(err, context.Canceled):
		return []string{"it was interrupted; helm status tells how far it came"}
	}
	return nil
}

// noChartHints say what may have been meant by the path of a chart that is not
// there.
func noChartHints(ref string) []string {
	const folder = "a chart's folder holds a Chart.yaml; helm create makes a new one"
	first, _, slash := strings.Cut(ref, "/")
	switch {
	case strings.HasSuffix(ref, ".tgz"):
		return []string{"helm package makes archives of charts, helm pull fetches them"}
	case !slash && ref != "":
		return []string{folder, fmt.Sprintf("charts of repositories are named REPOSITORY/%s: helm search repo %[1]s looks for it", ref)}
	case strings.Trim(first, ".") != "":
		return []string{folder, fmt.Sprintf("if it is the name of a chart elsewhere: helm pull %s --untar brings it here", ref)}
	}
	return []string{folder}
}

// lockedHints say how to get at a release that somebody else is at work on.
func lockedHints(e *lock.LockedError) []string {
	if e.Ended != nil {
		return nil
	}
	if e.Holder == "" {
		return []string{fmt.Sprintf("if that client was killed: helm rollback %[1]s goes back to the revision before at once, "+
			"and helm uninstall %[1]s removes the release; helm history %[1]s shows how far it came", e.Release)}
	}
	return []string{"try again when it has ended; --timeout waits longer for it"}
}

func scriptHints(e *script.Error) []string {
	switch e.Limit {
	case "cpu":
		return []string{"--script-timeout gives the scripts more time, if they need it"}
	case "memory":
		return []string{"HELM_SCRIPT_MEMORY=512Mi gives the scripts more memory, if they need it"}
	}
	return nil
}

// changesReleases tells whether a command writes to the cluster, so that there is
// something to look after when it was interrupted.
func changesReleases(cmd *cobra.Command) bool {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	switch path {
	case "install", "upgrade", "rollback", "uninstall", "test":
		return true
	}
	return false
}

// interruptedError tells that a command was interrupted that leaves nothing to
// look after.
type interruptedError struct {
	Err   error
	Cause error // the context's, nil if it is not known
}

func (e *interruptedError) Error() string {
	text := e.Err.Error()
	if e.Cause != nil { // "interrupt signal received"
		text = strings.ReplaceAll(text, e.Cause.Error(), "interrupted")
	}
	return text
}

func (e *interruptedError) Unwrap() error { return e.Err }

// untouched tells whether an interrupt came before the cluster was written to:
// before anything was begun, or in a script that runs before that.
func untouched(err error) bool {
	var (
		handler  *event.HandlerError
		harmless *interruptedError
	)
	if errors.As(err, &harmless) {
		return true
	}
	if failed := (*env.FailedError)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	if !errors.As(err, &handler) {
		return err == context.Canceled || stillFetching(err)
	}
	switch handler.Event {
	case "post-install", "post-upgrade", "post-rollback", "post-delete", "pre-test", "post-test", "failed-test":
		return false
	}
	early := handler.Owner == string(event.ObjectValidation) || handler.Owner == string(event.Permissions)
	return !handler.Core || early || handler.Event == "chart-resolved" || handler.Event == "post-render"
}

// provenanceHint says what to do about keys and signatures, "" about anything else.
func provenanceHint(err error) string {
	var (
		keyring  *provenance.KeyringError
		noSecret *provenance.NoSecretError
		noGnuPG  *provenance.NoGnuPGError
		gnupg    *provenance.GnuPGError
		locked   *provenance.LockedKeyError
		unknown  *provenance.UnknownKeyError
		mismatch *provenance.MismatchError
	)
	const export = "gpg --export-secret-keys KEY > FILE writes secret keys to a file, for --keyring FILE"
	switch {
	case errors.As(err, &keyring):
		return "--keyring names a file with keys: gpg --export > FILE writes the public ones, gpg --export-secret-keys > FILE those to sign with"
	case errors.As(err, &noSecret):
		return export
	case errors.As(err, &noGnuPG):
		return "install GnuPG; or, where it is: " + export
	case errors.As(err, &locked) && !locked.Wrong, errors.As(err, &gnupg):
		return "--passphrase-file FILE gives the passphrase, --passphrase-file - takes it from standard input"
	case errors.As(err, &unknown):
		return "if you trust that key, get it from its owner and gpg --import it, or give its file to --keyring"
	case errors.As(err, &mismatch):
		return "do not use it; fetch it again, or ask who signed it"
	}
	return ""
}

// isUntrusted tells whether the server's certificate was not accepted.
func isUntrusted(err error) bool {
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &untrusted)
}

// isNoNamespace tells whether the API server said that the namespace that
// something was to be written into is not there.
func isNoNamespace(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsNotFound(err) {
		return false
	}
	d := status.Status().Details
	return d != nil && d.Kind == "namespaces"
}

// unknownFieldHints say what to do about fields of which the API server said that
// it does not know them. By server-side apply it takes none that its schema lacks.
func unknownFieldHints(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "strict decoding error") && strings.Contains(text, "unknown field"):
		return []string{"correct the field, or the apiVersion; --disable-openapi-validation leaves such fields out, with a warning"}
	case strings.Contains(text, "field not declared in schema"):
		return []string{"correct the field, or the apiVersion; --server-side=false --disable-openapi-validation leaves such fields out, with a warning"}
	}
	return nil
}

func inUseHints(e *action.NameInUseError) []string {
	switch e.Status {
	case release.Failed, release.Uninstalled:
		return []string{
			fmt.Sprintf("helm cannot reuse a name that is still in use: helm uninstall %s removes what is left of the release, or --replace takes its name over", e.Name),
		}
	}
	if e.Status.Pending() {
		return []string{fmt.Sprintf("helm cannot reuse a name that is still in use: another helm is at work on it, or was ended in the middle: then helm uninstall %s removes what it left", e.Name)}
	}
	return []string{fmt.Sprintf("helm cannot reuse a name that is still in use: choose another, or look at the release with helm status %s", e.Name)}
}

// chain lists the types of the errors inside err, for bug reports; those of an
// error that joins several one after the other.
func chain(err error) string {
	var b strings.Builder
	var add func(err error, depth int)
	add = func(err error, depth int) {
		if err == nil {
			return
		}
		fmt.Fprintf(&b, "%s%T: %s\n", strings.Repeat("  ", depth), err, term.SafeLine(err.Error()))
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				add(e, depth+1)
			}
			return
		}
		add(errors.Unwrap(err), depth+1)
	}
	add(err, 0)
	return b.String()
}
