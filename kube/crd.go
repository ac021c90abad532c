// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
)

const crdKind = "CustomResourceDefinition"

// MissingCRDs are those of crds that the cluster does not have.
func (c *Client) MissingCRDs(ctx context.Context, crds []*manifest.Object) ([]*manifest.Object, error) {
	var targets []*target
	from := map[*target]*manifest.Object{}
	for _, o := range crds {
		ts, err := c.targets(ctx, []*manifest.Object{o}, "")
		if err != nil {
			return nil, err
		}
		for _, t := range ts {
			from[t] = o
		}
		targets = append(targets, ts...)
	}
	live, err := c.live(ctx, targets)
	if err != nil {
		return nil, err
	}
	var missing []*manifest.Object
	for _, t := range targets {
		o := from[t]
		if live[t] == nil && (len(missing) == 0 || missing[len(missing)-1] != o) {
			missing = append(missing, o)
		}
	}
	return missing, nil
}

// InstallCRDs creates crds, waits until they are established and served, and
// forgets what was known of the cluster's kinds. One that exists by now is left
// as it is. CRDs carry no marks: they outlive the release.
func (c *Client) InstallCRDs(ctx context.Context, crds []*manifest.Object) error {
	targets, err := c.targets(ctx, crds, "")
	if err != nil {
		return err
	}
	err = together(ctx, targets, func(ctx context.Context, t *target) error {
		body, err := t.body(Owner{})
		if err != nil {
			return err
		}
		err = c.create(ctx, t, body)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		if err == nil {
			c.progress.Send(progress.Event{Kind: progress.Created, Object: t.short()})
		}
		return t.fail("create", err)
	})
	if err != nil || c.dryRun {
		return err
	}
	defined := keep(targets, func(t *target) bool { return t.kind == crdKind })
	err = c.wait(ctx, defined, &waiting{pending: map[*target]string{}, report: c.progress, ready: established})
	if err != nil {
		return err
	}
	return c.serves(ctx, defined)
}

func established(t *target, o map[string]any) (bool, string, error) {
	state, _ := o["status"].(map[string]any)
	for _, c := range conditions(state) {
		switch {
		case c["type"] == "Established" && c["status"] == "True":
			return true, "", nil
		case c["type"] == "NamesAccepted" && c["status"] == "False":
			return false, "", &FailedError{Object: t.String(), Reason: reason(c)}
		}
	}
	return false, "to be established", nil
}

// serves returns when discovery knows the kinds that crds define, which it
// does a moment after they are established.
func (c *Client) serves(ctx context.Context, crds []*target) error {
	var wanted []kindKey
	for _, t := range crds {
		wanted = append(wanted, defines(t.object)...)
	}
	for delay := 20 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		c.forget()
		found, err := c.resolve(ctx, wanted)
		if err != nil {
			return err
		}
		missing := ""
		for k, r := range found {
			if r == nil {
				missing = k.kind + " in " + k.apiVersion
			}
		}
		if missing == "" {
			c.forget()
			return nil
		}
		if err := pause(ctx, delay); err != nil {
			return &WaitError{Pending: []string{fmt.Sprintf("%s to be served", missing)}, Err: err}
		}
	}
}

// defines are the kinds that a definition makes, one for each served version.
func defines(crd map[string]any) []kindKey {
	spec, _ := crd["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	group, _ := spec["group"].(string)
	kind, _ := names["kind"].(string)
	versions, _ := spec["versions"].([]any)
	var out []kindKey
	for _, v := range versions {
		m, _ := v.(map[string]any)
		name, _ := m["name"].(string)
		if served, _ := m["served"].(bool); served && name != "" {
			out = append(out, kindKey{group + "/" + name, kind})
		}
	}
	return out
}
