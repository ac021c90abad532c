// SPDX-License-Identifier: Apache-2.0

// Package nodes simulates the machines of a test cluster: nodes, the pods on them, their logs,
// volumes and load balancers. Pods run, complete, fail or stay pending as their annotations
// say; no container is started. Kwok simulates the nodes and their leases, and pod.go has the
// lifecycle of pods.
package nodes

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/utils/client"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
)

// leaseSeconds is the duration of a node's lease, which kwok renews four times as often. The
// node controller regards nodes without a lease as failed.
const leaseSeconds = 40

// Start creates count nodes whose kubelets serve on the listener, and starts to simulate them.
// It returns as soon as the nodes exist; the simulation ends when ctx is done.
func Start(ctx context.Context, kubeconfig string, config *rest.Config, kubelet net.Listener, count int) error {
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := serveKubelet(ctx, kubelet, typed); err != nil {
		return err
	}
	port := kubelet.Addr().(*net.TCPAddr).Port
	for i := range count {
		if err := createNode(ctx, typed, "node-"+strconv.Itoa(i+1), port); err != nil {
			return err
		}
	}
	if err := startKwok(ctx, kubeconfig, port); err != nil {
		return fmt.Errorf("start kwok: %w", err)
	}
	return startInfrastructure(ctx, typed)
}

func createNode(ctx context.Context, c kubernetes.Interface, name string, port int) error {
	now := metav1.Now()
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("64"),
		corev1.ResourceMemory:           resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("1000"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname:       name,
			corev1.LabelOSStable:       "linux",
			corev1.LabelArchStable:     "amd64",
			corev1.LabelTopologyZone:   "local-1",
			corev1.LabelTopologyRegion: "local",
		}},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Conditions:  nodeConditions(now),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: "127.0.0.1"},
				{Type: corev1.NodeHostName, Address: name},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
			NodeInfo: corev1.NodeSystemInfo{
				Architecture: "amd64", OperatingSystem: "linux", OSImage: "none",
				KernelVersion: "none", KubeletVersion: "v1.36.3", ContainerRuntimeVersion: "kwok://0.8.0",
			},
		},
	}
	if _, err := c.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create node %s: %w", name, err)
	}
	return nil
}

func nodeConditions(now metav1.Time) []corev1.NodeCondition {
	var out []corev1.NodeCondition
	for _, c := range []struct {
		kind   corev1.NodeConditionType
		status corev1.ConditionStatus
		reason string
	}{
		{corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"},
		{corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"},
		{corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"},
		{corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"},
	} {
		out = append(out, corev1.NodeCondition{Type: c.kind, Status: c.status, Reason: c.reason,
			LastHeartbeatTime: now, LastTransitionTime: now})
	}
	return out
}

func startKwok(ctx context.Context, kubeconfig string, port int) error {
	set, err := client.NewClientset("", kubeconfig)
	if err != nil {
		return err
	}
	config, err := set.ToRESTConfig()
	if err != nil {
		return err
	}
	restClient, err := rest.RESTClientFor(config)
	if err != nil {
		return err
	}
	careful := rest.CopyConfig(config)
	careful.Wrap(func(next http.RoundTripper) http.RoundTripper { return leavingOnly{next} })
	// Kwok deletes by either of them.
	dynamicClient, err := dynamic.NewForConfig(careful)
	if err != nil {
		return err
	}
	typedClient, err := kubernetes.NewForConfig(careful)
	if err != nil {
		return err
	}
	mapper, err := set.ToRESTMapper()
	if err != nil {
		return err
	}
	id, err := controllers.Identity()
	if err != nil {
		return err
	}
	c, err := controllers.NewController(controllers.Config{
		Clock:                      clock.RealClock{},
		TypedClient:                typedClient,
		DynamicClient:              dynamicClient,
		RESTClient:                 restClient,
		RESTMapper:                 mapper,
		ImpersonatingDynamicClient: set.ToImpersonatingDynamicClient(),
		ImpersonatingTypedClient:   set.ToImpersonatingTypedClient(),
		ManageAllNodes:             true,
		CIDR:                       "10.244.0.1/16",
		NodeIP:                     "127.0.0.1",
		NodePort:                   port,
		NodeLeaseDurationSeconds:   leaseSeconds,
		NodeLeaseParallelism:       1,
		NodePlayStageParallelism:   1,
		PodPlayStageParallelism:    8,
		PodsOnNodeSyncParallelism:  1,
		ID:                         id,
		LocalStages: map[internalversion.StageResourceRef][]*internalversion.Stage{
			{APIGroup: "v1", Kind: "Node"}: nodeStages(),
			{APIGroup: "v1", Kind: "Pod"}:  podStages(),
		},
		FuncMap: gotpl.FuncMap{
			"PodStatus":  podStatus,
			"NodeStatus": func() (string, error) { return nodeStatus(time.Now()) },
		},
	})
	if err != nil {
		return err
	}
	return c.Start(ctx)
}
