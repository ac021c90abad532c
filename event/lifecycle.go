// SPDX-License-Identifier: Apache-2.0

package event

import "github.com/moonhelm/moonhelm/release"

// ChartResolved is internal. It is emitted when the chart is loaded, its dependencies are
// enabled or disabled and its values are merged. Sources prepare for the chart, for
// example load its scripts.
type ChartResolved struct {
	Payload
}

// ChartLoaded is emitted first by every command that uses a chart.
type ChartLoaded struct {
	Payload
}

// PreCreate is emitted before a new chart is created. There is no chart yet.
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

// PostDependencyBuild is emitted when dependencies have been resolved.
type PostDependencyBuild struct {
	Payload
}

// PreRender is emitted before templates are rendered. Objects is empty; objects that
// handlers add are added to the rendered ones.
type PreRender struct {
	Payload
	// Functions are additional template functions.
	Functions Functions
}

// PostRender is emitted when the templates have been rendered and parsed.
type PostRender struct {
	Payload
}

// PreInstall is emitted before an install writes to the cluster. The objects that handlers
// leave are validated, recorded and applied.
type PreInstall struct {
	Payload
}

// PostInstall is emitted when all objects are applied and, if the user waits, ready.
type PostInstall struct {
	Payload
}

// PreUpgrade is the counterpart of [PreInstall] for an upgrade.
type PreUpgrade struct {
	Payload
}

// PostUpgrade is the counterpart of [PostInstall] for an upgrade.
type PostUpgrade struct {
	Payload
}

// PreRollback is emitted before a rollback writes to the cluster. Objects are those of
// the stored revision.
type PreRollback struct {
	Payload
}

// PostRollback is emitted when a rollback has been applied.
type PostRollback struct {
	Payload
}

// PreDelete is emitted before an uninstall deletes objects. There is no chart.
type PreDelete struct {
	Payload
}

// PostDelete is emitted after an uninstall has deleted a release's objects.
type PostDelete struct {
	Payload
}

// PreLint is emitted when a chart has been rendered for linting.
type PreLint struct {
	Payload
	// Warn and Fail add a finding about a file of the chart, or, if path is empty, about the chart.
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
	// Results are the results of the tests.
	Results []TestResult
}

// FailedTest is emitted before [PostTest] if a test has failed.
type FailedTest struct {
	Payload
	// Results are the results of the tests.
	Results []TestResult
}

// PrePackage is emitted before a chart is packaged. Changes affect the package, not the
// chart's directory.
type PrePackage struct {
	Payload
}

// TestResult is the result of a test hook.
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

// Names returns the events that scripts can handle, in the order in which an operation
// emits them.
func Names() []string {
	all := all()
	out := make([]string, len(all))
	for i, e := range all {
		out[i] = e.Name()
	}
	return out
}

// New returns an event without a payload, or nil if scripts cannot handle an event of that
// name. Names of [Aliases] are not known to it.
func New(name string) Event {
	for _, e := range all() {
		if e.Name() == name {
			return e
		}
	}
	return nil
}

// all returns the events that scripts can handle, in the order in which an operation emits
// them.
func all() []Event {
	return []Event{
		&ChartLoaded{}, &PreCreate{}, &PostCreate{}, &PreDependencyBuild{},
		&PostDependencyBuild{}, &PreRender{}, &PostRender{}, &PreInstall{},
		&PostInstall{}, &PreUpgrade{}, &PostUpgrade{}, &PreRollback{},
		&PostRollback{}, &PreDelete{}, &PostDelete{}, &PreLint{},
		&PostTemplate{}, &PreTest{}, &PostTest{}, &FailedTest{},
		&PrePackage{},
	}
}

// Aliases maps other names that scripts may use for an event to its name.
func Aliases() map[string]string { return map[string]string{"pre-load": "chart-loaded"} }
