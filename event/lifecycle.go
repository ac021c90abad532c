// SPDX-License-Identifier: Apache-2.0

package event

import "github.com/moonhelm/moonhelm/release"

// ChartResolved is internal: the chart is in memory, its
// dependencies are switched on and off, its values coalesced. What needs to
// prepare for a chart, such as its scripts, does it now.
type ChartResolved struct {
	Payload
}

// ChartLoaded is emitted by every command that runs a chart, before anything else.
type ChartLoaded struct {
	Payload
}

// PreCreate is emitted before a new chart is made. There is no chart yet.
type PreCreate struct {
	Payload
}

// PostCreate is emitted when a new chart is complete, before it is written.
type PostCreate struct {
	Payload
}

// PreDependencyBuild is emitted before dependencies are resolved.
type PreDependencyBuild struct {
	Payload
}

// PostDependencyBuild is emitted once they are.
type PostDependencyBuild struct {
	Payload
}

// PreRender is emitted before templates are rendered. Objects is empty; what
// handlers put there joins the rendered ones.
type PreRender struct {
	Payload
	// Functions are for the templates, beside the usual ones.
	Functions Functions
}

// PostRender is emitted once templates have become objects.
type PostRender struct {
	Payload
}

// PreInstall is emitted before anything is written to the cluster. What
// handlers leave is validated, recorded and applied.
type PreInstall struct {
	Payload
}

// PostInstall is emitted when everything has been applied, and is ready where
// that was asked for.
type PostInstall struct {
	Payload
}

// PreUpgrade is to an upgrade what [PreInstall] is to an install.
type PreUpgrade struct {
	Payload
}

// PostUpgrade is to an upgrade what [PostInstall] is to an install.
type PostUpgrade struct {
	Payload
}

// PreRollback is emitted before a rollback writes. Objects are those of the
// stored revision.
type PreRollback struct {
	Payload
}

// PostRollback is emitted when a rollback has been applied.
type PostRollback struct {
	Payload
}

// PreDelete is emitted before an uninstall deletes anything. There is no chart
// to see.
type PreDelete struct {
	Payload
}

// PostDelete is emitted after an uninstall has deleted a release's objects.
type PostDelete struct {
	Payload
}

// PreLint is emitted when a chart was rendered to be checked.
type PreLint struct {
	Payload
	// Warn and Fail add findings about a file of the chart, or about none ("").
	Warn, Fail func(path, text string)
}

// PostTemplate is emitted before rendered objects are printed.
type PostTemplate struct {
	Payload
}

// PreTest is emitted before test hooks run. Objects are the test hooks.
type PreTest struct {
	Payload
}

// PostTest is emitted after test hooks have run.
type PostTest struct {
	Payload
	// Results are how they went.
	Results []TestResult
}

// FailedTest is emitted before [PostTest] where a test has failed.
type FailedTest struct {
	Payload
	// Results are how the tests went.
	Results []TestResult
}

// PrePackage is emitted before a chart is packed. The chart is the one to be
// packed; the directory on disk stays as it is.
type PrePackage struct {
	Payload
}

// TestResult is how one test hook went.
type TestResult struct {
	Name  string
	Kind  string
	Phase release.Phase
}

// Name implements [Event].
func (*ChartResolved) Name() string { return "chart-resolved" }

// Name implements [Event].
func (*ChartLoaded) Name() string { return "chart-loaded" }

// Name implements [Event].
func (*PreCreate) Name() string { return "pre-create" }

// Name implements [Event].
func (*PostCreate) Name() string { return "post-create" }

// Name implements [Event].
func (*PreDependencyBuild) Name() string { return "pre-dependency-build" }

// Name implements [Event].
func (*PostDependencyBuild) Name() string { return "post-dependency-build" }

// Name implements [Event].
func (*PreRender) Name() string { return "pre-render" }

// Name implements [Event].
func (*PostRender) Name() string { return "post-render" }

// Name implements [Event].
func (*PreInstall) Name() string { return "pre-install" }

// Name implements [Event].
func (*PostInstall) Name() string { return "post-install" }

// Name implements [Event].
func (*PreUpgrade) Name() string { return "pre-upgrade" }

// Name implements [Event].
func (*PostUpgrade) Name() string { return "post-upgrade" }

// Name implements [Event].
func (*PreRollback) Name() string { return "pre-rollback" }

// Name implements [Event].
func (*PostRollback) Name() string { return "post-rollback" }

// Name implements [Event].
func (*PreDelete) Name() string { return "pre-delete" }

// Name implements [Event].
func (*PostDelete) Name() string { return "post-delete" }

// Name implements [Event].
func (*PreLint) Name() string { return "pre-lint" }

// Name implements [Event].
func (*PostTemplate) Name() string { return "post-template" }

// Name implements [Event].
func (*PreTest) Name() string { return "pre-test" }

// Name implements [Event].
func (*PostTest) Name() string { return "post-test" }

// Name implements [Event].
func (*FailedTest) Name() string { return "failed-test" }

// Name implements [Event].
func (*PrePackage) Name() string { return "pre-package" }

// Mutable implements [Event].
func (*ChartResolved) Mutable() Fields { return 0 }

// Mutable implements [Event].
func (*ChartLoaded) Mutable() Fields { return Values | Templates | Files }

// Mutable implements [Event].
func (*PreCreate) Mutable() Fields { return 0 }

// Mutable implements [Event].
func (*PostCreate) Mutable() Fields { return Values | Templates | Files }

// Mutable implements [Event].
func (*PreDependencyBuild) Mutable() Fields { return Dependencies }

// Mutable implements [Event].
func (*PostDependencyBuild) Mutable() Fields { return 0 }

// Mutable implements [Event].
func (*PreRender) Mutable() Fields { return Values | Templates | Files | Objects }

// Mutable implements [Event].
func (*PostRender) Mutable() Fields { return Objects }

// Mutable implements [Event].
func (*PreInstall) Mutable() Fields { return Objects }

// Mutable implements [Event].
func (*PostInstall) Mutable() Fields { return 0 }

// Mutable implements [Event].
func (*PreUpgrade) Mutable() Fields { return Objects }

// Mutable implements [Event].
func (*PostUpgrade) Mutable() Fields { return 0 }

// Mutable implements [Event].
func (*PreRollback) Mutable() Fields { return Objects }

// Mutable implements [Event].
func (*PostRollback) Mutable() Fields { return 0 }

// Mutable implements [Event].
func (*PreDelete) Mutable() Fields { return 0 }

// Mutable implements [Event].
func (*PostDelete) Mutable() Fields { return 0 }

// Mutable implements [Event].
func (*PreLint) Mutable() Fields { return 0 }

// Mutable implements [Event].
func (*PostTemplate) Mutable() Fields { return Objects }

// Mutable implements [Event].
func (*PreTest) Mutable() Fields { return Objects }

// Mutable implements [Event].
func (*PostTest) Mutable() Fields { return 0 }

// Mutable implements [Event].
func (*FailedTest) Mutable() Fields { return 0 }

// Mutable implements [Event].
func (*PrePackage) Mutable() Fields { return Values | Templates | Files | Versions }

// Names are the events that scripts can answer, in the order of an operation's
// life.
func Names() []string {
	return []string{
		"chart-loaded",
		"pre-create",
		"post-create",
		"pre-dependency-build",
		"post-dependency-build",
		"pre-render",
		"post-render",
		"pre-install",
		"post-install",
		"pre-upgrade",
		"post-upgrade",
		"pre-rollback",
		"post-rollback",
		"pre-delete",
		"post-delete",
		"pre-lint",
		"post-template",
		"pre-test",
		"post-test",
		"failed-test",
		"pre-package",
	}
}

// Aliases are other names that scripts may call events by: what an event was
// called in a document → its name.
func Aliases() map[string]string { return map[string]string{"pre-load": "chart-loaded"} }
