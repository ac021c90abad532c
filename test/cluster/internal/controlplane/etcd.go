// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

// etcdSocket is where etcd answers. It is relative because a unix socket's path
// may not be longer than some hundred characters and test directories often are.
const etcdSocket = "unix://etcd.sock"

// startEtcd runs etcd in this process and returns once it takes requests. It
// keeps its data in the current directory and never syncs it to disk: the data
// does not outlive the cluster.
func startEtcd(ctx context.Context) (*embed.Etcd, error) {
	cfg := embed.NewConfig()
	cfg.Dir = "etcd"
	cfg.UnsafeNoFsync = true
	cfg.LogLevel = "error"
	cfg.LogOutputs = []string{"stderr"}
	cfg.ListenClientUrls = []url.URL{*mustURL(etcdSocket)}
	cfg.ListenPeerUrls = []url.URL{*mustURL("unix://etcd-peer.sock")}
	// A single member elects itself; nothing is gained by waiting a second.
	cfg.TickMs, cfg.ElectionMs = 10, 100
	cfg.EnableGRPCGateway = false
	cfg.Metrics = "basic"

	// The log's files are made in full beforehand, two at a time.
	wal.SegmentSizeBytes = 8 << 20

	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-e.Server.ReadyNotify():
		return e, nil
	case err := <-e.Err():
		return nil, fmt.Errorf("start etcd: %w", err)
	case <-ctx.Done():
		return nil, fmt.Errorf("start etcd: %w", ctx.Err())
	}
}

func mustURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}
