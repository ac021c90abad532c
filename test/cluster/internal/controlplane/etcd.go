// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

// etcdSocket is the address of etcd. It is relative because the path of a unix socket is
// limited to about a hundred characters, and test directories are often longer.
const etcdSocket = "unix://etcd.sock"

// startEtcd starts etcd in this process and returns when it serves requests. Its data is in the
// current directory and never synced to disk, because it is not needed after the process ends.
func startEtcd(ctx context.Context) (*embed.Etcd, error) {
	cfg := embed.NewConfig()
	cfg.Dir = "etcd"
	cfg.UnsafeNoFsync = true
	cfg.LogLevel = "error"
	cfg.LogOutputs = []string{"stderr"}
	cfg.ListenClientUrls = []url.URL{*mustURL(etcdSocket)}
	cfg.ListenPeerUrls = []url.URL{*mustURL("unix://etcd-peer.sock")}
	// A single member elects itself; the default timeouts delay the start by a second.
	cfg.TickMs, cfg.ElectionMs = 10, 100
	cfg.EnableGRPCGateway = false
	cfg.Metrics = "basic"

	// Two segments of the log are allocated in advance.
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
