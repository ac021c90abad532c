// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestHooksThatCannotStartFailAtOnce(t *testing.T) {
	for _, test := range []struct{ name, hook, want string }{
		{"image", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: h}\nspec: {template: {metadata: {annotations: {moonhelm.test/waiting: ErrImagePull}}, spec: {restartPolicy: Never, containers: [{name: main, image: nowhere}]}}}", "its image nowhere cannot be pulled"},
		{"crash", "apiVersion: v1\nkind: Pod\nmetadata: {name: h, annotations: {moonhelm.test/exit-code: \"5\", moonhelm.test/restart-after: 300ms}}\nspec: {restartPolicy: OnFailure, containers: [{name: main, image: a}]}", "crashes again and again (exit code 5"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, _ := quickClient(t)
			ns := namespace(t, c)
			hook := parse(t, test.hook)[0]
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := c.CreateHook(ctx, hook, ns); err != nil {
				t.Fatal(err)
			}
			err := c.Finish(ctx, hook, ns)
			var failed *FailedError
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Finish: %v", err)
			}
		})
	}
}

func TestAHookThatIsDeletedHasFailed(t *testing.T) {
	t.Parallel()
	c, _ := quickClient(t)
	ns := namespace(t, c)
	hook := parse(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: h, annotations: {moonhelm.test/run-forever: \"true\"}}\nspec: {restartPolicy: Never, containers: [{name: main, image: a}]}")[0]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.CreateHook(ctx, hook, ns); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(time.Second, func() { _ = c.DeleteHook(context.Background(), hook, ns) })
	if err := c.Finish(ctx, hook, ns); err == nil || !strings.Contains(err.Error(), "was deleted before it was done") {
		t.Errorf("Finish: %v", err)
	}
}
