// SPDX-License-Identifier: Apache-2.0

// Command ours runs the loop with Moonhelm's packages.
package main

import (
	"context"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/test/sdk/loop"
)

func main() { loop.Main(connect) }

type sdk struct {
	config    *action.Config
	chart     *chart.Chart
	namespace string
}

func connect(s loop.Settings) (loop.SDK, error) {
	c, err := loader.Load(s.Chart)
	if err != nil {
		return nil, err
	}
	config, err := action.NewConfig(action.KubeSettings{Kubeconfig: s.Kubeconfig, Namespace: s.Namespace})
	if err != nil {
		return nil, err
	}
	return &sdk{config, c, s.Namespace}, nil
}

func (s *sdk) Install(ctx context.Context, name string, values map[string]any) error {
	_, err := action.Install{Config: s.config}.Run(ctx, action.InstallRequest{
		Chart: s.chart, Name: name, Namespace: s.namespace, Values: values,
	})
	return err
}

func (s *sdk) Upgrade(ctx context.Context, name string, values map[string]any) error {
	_, err := action.Upgrade{Config: s.config}.Run(ctx, action.UpgradeRequest{
		Chart: s.chart, Name: name, Namespace: s.namespace, Values: values,
	})
	return err
}

func (s *sdk) Uninstall(ctx context.Context, name string) error {
	_, err := action.Uninstall{Config: s.config}.Run(ctx, action.UninstallRequest{Name: name})
	return err
}
