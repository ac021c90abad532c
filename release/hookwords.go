// SPDX-License-Identifier: Apache-2.0

package release

// HookEvents returns the events that hooks may name.
func HookEvents() []HookEvent {
	return []HookEvent{PreInstall, PostInstall, PreDelete, PostDelete, PreUpgrade, PostUpgrade, PreRollback, PostRollback,
		Test}
}

// DeletePolicies returns the delete policies that hooks may name.
func DeletePolicies() []DeletePolicy {
	return []DeletePolicy{BeforeHookCreation, HookSucceeded, HookFailed}
}

// OutputLogPolicies returns the output-log policies that hooks may name.
func OutputLogPolicies() []OutputLogPolicy {
	return []OutputLogPolicy{LogOnSucceeded, LogOnFailed}
}

// ReplacedEvent returns advice for a hook event of Helm 2 that was removed, or "" if word
// is not one of them.
func ReplacedEvent(word string) string {
	switch word {
	case "crd-install":
		return "put CRDs into crds/"
	case "test-failure":
		return "a test that must fail negates its command"
	}
	return ""
}
