// SPDX-License-Identifier: Apache-2.0

package action

import (
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/kube/status"
	"github.com/moonhelm/moonhelm/kube/wait"
)

// Cluster is the cluster access of all operations. [NewCluster] implements it with a
// [*kube.Client]; the packages below kube document the methods.
type Cluster interface {
	Describer
	Deployer
	CRDInstaller
	NamespaceCreator
	LiveReader
	DriftReader
	HookCluster
	OwnershipChanger
}

// NewCluster returns the cluster that client is connected to. It applies objects with the
// options o.
func NewCluster(client *kube.Client, o apply.Options) Cluster {
	return newKubeCluster(client, apply.New(client, o))
}

// kubeCluster implements Cluster for one connection.
type kubeCluster struct {
	*kube.Client
	*apply.Applier
	*wait.Waiter
	*status.Reader
}

var _ Cluster = (*kubeCluster)(nil)

func newKubeCluster(client *kube.Client, a *apply.Applier) *kubeCluster {
	return &kubeCluster{Client: client, Applier: a, Waiter: wait.New(client, wait.Grace{}), Reader: status.New(client)}
}
