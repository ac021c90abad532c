// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/util/compatibility"
	cliflag "k8s.io/component-base/cli/flag"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	manageroptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// The components are started through their options instead of their commands, because the
// commands install signal handlers, which a process may do only once.

// runAPIServer runs kube-apiserver on the listener. It returns only if it fails.
func runAPIServer(ctx context.Context, l net.Listener) error {
	opts := apiserveroptions.NewServerRunOptions()
	// With a listener, no other cluster can take the port before it is used.
	opts.SecureServing.Listener = l
	opts.SecureServing.BindPort = l.Addr().(*net.TCPAddr).Port
	err := parse(opts.Flags(),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", // a loopback address is not an endpoint
		"--etcd-servers="+etcdSocket,
		"--etcd-compaction-interval=0",
		"--tls-cert-file="+servingCert,
		"--tls-private-key-file="+servingKey,
		"--token-auth-file="+tokenFile,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+servicePublic,
		"--service-account-signing-key-file="+serviceKey,
		"--service-cluster-ip-range=10.96.0.0/16",
		"--allow-privileged=true",
		"--kubelet-preferred-address-types=InternalIP",
		// Nodes are created ready, so they need no taint until they are.
		"--disable-admission-plugins=TaintNodesByCondition",
		"--profiling=false",
	)
	if err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	if err := compatibility.DefaultComponentGlobalsRegistry.Set(); err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	completed, err := opts.Complete(ctx)
	if err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return fmt.Errorf("kube-apiserver: %w", utilerrors.NewAggregate(errs))
	}
	return fmt.Errorf("kube-apiserver ended: %w", apiserver.Run(ctx, completed))
}

// runControllers runs kube-controller-manager. It returns only if it fails. The API server must
// be healthy.
func runControllers(ctx context.Context) error {
	opts, err := manageroptions.NewKubeControllerManagerOptions()
	if err != nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	known, off, aliases := manager.KnownControllers(), manager.ControllersDisabledByDefault(), manager.ControllerAliases()
	err = parse(opts.Flags(known, off, aliases),
		"--kubeconfig="+AdminKubeconfig,
		"--secure-port=0",
		"--leader-elect=false",
		"--service-account-private-key-file="+serviceKey,
		"--root-ca-file="+caFile,
		"--node-monitor-grace-period=5m", // a busy machine is not a dead node
		"--pvclaimbinder-sync-period=1s",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	)
	if err != nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	cfg, err := opts.Config(ctx, known, off, aliases)
	if err != nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	return fmt.Errorf("kube-controller-manager ended: %w", manager.Run(ctx, cfg.Complete()))
}

// runScheduler runs kube-scheduler. It returns only if it fails.
func runScheduler(ctx context.Context) error {
	opts := scheduleroptions.NewOptions()
	err := parse(*opts.Flags,
		"--kubeconfig="+AdminKubeconfig,
		"--secure-port=0",
		"--leader-elect=false",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	)
	if err != nil {
		return fmt.Errorf("kube-scheduler: %w", err)
	}
	cfg, sched, err := scheduler.Setup(ctx, opts)
	if err != nil {
		return fmt.Errorf("kube-scheduler: %w", err)
	}
	return fmt.Errorf("kube-scheduler ended: %w", scheduler.Run(ctx, cfg, sched))
}

// parse parses flags like the component's own command.
func parse(sets cliflag.NamedFlagSets, args ...string) error {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	for _, set := range sets.FlagSets {
		all.AddFlagSet(set)
	}
	return all.Parse(args)
}
