// SPDX-License-Identifier: Apache-2.0

// Command helm runs the loop with the SDK of Helm 4.
package main

import (
	"context"
	"log/slog"

	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"

	"github.com/moonhelm/moonhelm/test/sdk/loop"
)

func main() {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	loop.Main(connect)
}

type sdk struct {
	config    *action.Configuration
	chart     *chart.Chart
	namespace string
}

func connect(s loop.Settings) (loop.SDK, error) {
	c, err := loader.Load(s.Chart)
	if err != nil {
		return nil, err
	}
	settings := cli.New()
	settings.KubeConfig = s.Kubeconfig
	settings.SetNamespace(s.Namespace)
	config := action.NewConfiguration()
	if err := config.Init(settings.RESTClientGetter(), s.Namespace, "secret"); err != nil {
		return nil, err
	}
	return &sdk{config, c, s.Namespace}, nil
}

func (s *sdk) Install(ctx context.Context, name string, values map[string]any) error {
	i := action.NewInstall(s.config)
	i.ReleaseName, i.Namespace = name, s.namespace
	i.WaitStrategy = kube.HookOnlyStrategy
	_, err := i.RunWithContext(ctx, s.chart, values)
	return err
}

func (s *sdk) Upgrade(ctx context.Context, name string, values map[string]any) error {
	u := action.NewUpgrade(s.config)
	u.Namespace = s.namespace
	u.ServerSideApply = "auto"
	u.WaitStrategy = kube.HookOnlyStrategy
	_, err := u.RunWithContext(ctx, name, s.chart, values)
	return err
}

func (s *sdk) Uninstall(_ context.Context, name string) error {
	u := action.NewUninstall(s.config)
	u.WaitStrategy = kube.HookOnlyStrategy
	_, err := u.Run(name)
	return err
}
