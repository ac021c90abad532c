// SPDX-License-Identifier: Apache-2.0

// Package controlplane runs a Kubernetes control plane in one process: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and the simulated nodes of package nodes. [Serve]
// writes kubeconfigs into an empty directory and serves on a free loopback port:
//
//	err := controlplane.Serve(ctx, dir, 2, func() { fmt.Println("ready") })
//
// It does not stop the components; the process must end.
package controlplane

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moonhelm/moonhelm/test/cluster/internal/nodes"
)

// startTimeout limits the time until a cluster is ready.
const startTimeout = 3 * time.Minute

// Serve runs a cluster in dir, which becomes the current directory, and calls ready once pods
// can run on it. It returns when ctx is done or a component fails; the caller must then end the
// process.
func Serve(ctx context.Context, dir string, nodeCount int, ready func()) error {
	if err := os.Chdir(dir); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("find a port for kube-apiserver: %w", err)
	}
	server := "https://" + l.Addr().String()
	if err := writeCredentials(server); err != nil {
		return fmt.Errorf("write credentials: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", AdminKubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1

	if _, err := startEtcd(ctx); err != nil {
		return err
	}
	ended := make(chan error, 4)
	go func() { ended <- runAPIServer(ctx, l) }()

	started := make(chan error, 1)
	go func() { started <- startRest(ctx, config, nodeCount, ended) }()
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case err := <-started:
			if err != nil {
				return err
			}
			deadline.Stop()
			ready()
		case <-deadline.C:
			return fmt.Errorf("the cluster was not ready after %s", startTimeout)
		case <-ctx.Done():
			return nil
		}
	}
}

// startRest starts the components that need an API server and returns when pods can run.
func startRest(ctx context.Context, config *rest.Config, nodeCount int, ended chan<- error) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := healthy(ctx, client); err != nil {
		return err
	}
	go func() { ended <- runControllers(ctx) }()
	go func() { ended <- runScheduler(ctx) }()

	l, err := listenTLS()
	if err != nil {
		return fmt.Errorf("find a port for the kubelet: %w", err)
	}
	if err := nodes.Start(ctx, AdminKubeconfig, config, l, nodeCount); err != nil {
		return fmt.Errorf("start the nodes: %w", err)
	}
	return usable(ctx, client)
}

func listenTLS() (net.Listener, error) {
	cert, err := tls.LoadX509KeyPair(servingCert, servingKey)
	if err != nil {
		return nil, err
	}
	return tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
}

// healthy returns when the API server is healthy.
func healthy(ctx context.Context, client kubernetes.Interface) error {
	return poll(ctx, func() (bool, error) {
		status := 0
		client.Discovery().RESTClient().Get().AbsPath("/healthz").Timeout(5 * time.Second).Do(ctx).StatusCode(&status)
		return status == http.StatusOK, nil
	})
}

// usable returns when the controllers have created the objects that pods in the default
// namespace need: a service account and the ConfigMap with the certificate authority.
func usable(ctx context.Context, client kubernetes.Interface) error {
	return poll(ctx, func() (bool, error) {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			_, err = client.CoreV1().ConfigMaps("default").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		}
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

func poll(ctx context.Context, done func() (bool, error)) error {
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(25 * time.Millisecond):
		}
	}
}
