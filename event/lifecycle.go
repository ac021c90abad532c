// SPDX-License-Identifier: Apache-2.0

package event

import "github.com/moonhelm/moonhelm/release"

// ChartResolved is internal: the chart is in memory, its
// dependencies are switched on and off, its values coalesced. What needs to
// prepare for a chart, such as its scripts, does it now.
type ChartResolved struct {
	Scene
}

// ChartLoaded is emitted by every command that runs a chart, before anything else.
type ChartLoaded struct {
	Scene
}

// PreCreate is emitted before a new chart is made. There is no chart yet.
type PreCreate struct {
	Scene
}

// PostCreate is emitted when a new chart is complete, before it is written.
type PostCreate struct {
	Scene
}

// PreDependencyBuild is emitted before dependencies are resolved.
type PreDependencyBuild struct {
	Scene
}

// PostDependencyBuild is emitted once they are.
type PostDependencyBuild struct {
	Scene
}

// PreRender is emitted before templates are rendered. Objects is empty; what
// handlers put there joins the rendered ones.
type PreRender struct {
	Scene
	// Functions are for the templates, beside the usual ones.
	Functions Functions
}

// PostRender is emitted once templates have become objects.
type PostRender struct {
	Scene
}

// PreInstall is emitted before anything is written to the cluster. What
// handlers leave is validated, recorded and applied.
type PreInstall struct {
	Scene
}

// PostInstall is emitted when everything has been applied, and is ready where
// that was asked for.
type PostInstall struct {
	Scene
}

// PreUpgrade is to an upgrade what [PreInstall] is to an install.
type PreUpgrade struct {
	Scene
}

// PostUpgrade is to an upgrade what [PostInstall] is to an install.
type PostUpgrade struct {
	Scene
}

// PreRollback is emitted before a rollback writes. Objects are those of the
// stored revision.
type PreRollback struct {
	Scene
}

// PostRollback is emitted when a rollback has been applied.
type PostRollback struct {
	Scene
}

// PreDelete is emitted before an uninstall deletes anything. There is no chart
// to see.
type PreDelete struct {
	Scene
}

// PostDelete is emitted after an uninstall has deleted a release's objects.
type PostDelete struct {
	Scene
}

// PreLint is emitted when a chart was rendered to be checked.
type PreLint struct {
	Scene
	// Warn and Fail add findings about a file of the chart, or about none ("").
	Warn, Fail func(path, text string)
}

// PostTemplate is emitted before rendered objects are printed.
type PostTemplate struct {
	Scene
}

// PreTest is emitted before test hooks run. Objects are the test hooks.
type PreTest struct {
	Scene
}

// PostTest is emitted after test hooks have run.
type PostTest struct {
	Scene
	// Results are how they went.
	Results []TestResult
}

// FailedTest is emitted before [PostTest] where a test has failed.
type FailedTest struct {
	Scene
	// Results are how the tests went.
	Results []TestResult
}

// PrePackage is emitted before a chart is packed. The chart is the one to be
// packed; the folder on disk stays as it is.
type PrePackage struct {
	Scene
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

// May implements [Event].
func (*ChartResolved) May() Part { return 0 }

// May implements [Event].
func (*ChartLoaded) May() Part { return Values | Templates | Files }

// May implements [Event].
func (*PreCreate) May() Part { return 0 }

// May implements [Event].
func (*PostCreate) May() Part { return Values | Templates | Files }

// May implements [Event].
func (*PreDependencyBuild) May() Part { return Dependencies }

// May implements [Event].
func (*PostDependencyBuild) May() Part { return 0 }

// May implements [Event].
func (*PreRender) May() Part { return Values | Templates | Files | Objects }

// May implements [Event].
func (*PostRender) May() Part { return Objects }

// May implements [Event].
func (*PreInstall) May() Part { return Objects }

// May implements [Event].
func (*PostInstall) May() Part { return 0 }

// May implements [Event].
func (*PreUpgrade) May() Part { return Objects }

// May implements [Event].
func (*PostUpgrade) May() Part { return 0 }

// May implements [Event].
func (*PreRollback) May() Part { return Objects }

// May implements [Event].
func (*PostRollback) May() Part { return 0 }

// May implements [Event].
func (*PreDelete) May() Part { return 0 }

// May implements [Event].
func (*PostDelete) May() Part { return 0 }

// May implements [Event].
func (*PreLint) May() Part { return 0 }

// May implements [Event].
func (*PostTemplate) May() Part { return Objects }

// May implements [Event].
func (*PreTest) May() Part { return Objects }

// May implements [Event].
func (*PostTest) May() Part { return 0 }

// May implements [Event].
func (*FailedTest) May() Part { return 0 }

// May implements [Event].
func (*PrePackage) May() Part { return Values | Templates | Files | Versions }

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
