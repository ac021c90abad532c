// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/registry"
)

// Push a chart to a registry and pull it. A program's client for a registry with TLS and the
// logins of helm and Docker is
//
//	&registry.Client{Credentials: &registry.Credentials{File: "config.json", Docker:
//
// "/home/me/.docker/config.json"}}
func ExampleClient() {
	host, stop := registry.StartFake() // instead of registry.example.org
	defer stop()
	ctx, client := context.Background(), &registry.Client{PlainHTTP: true}
	web, err := loader.LoadFiles([]*chart.File{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: web\nversion: 1.2.3\n")},
		{Name: "templates/cm.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")},
	})
	if err != nil {
		log.Fatal(err)
	}
	var archive bytes.Buffer
	if err := loader.Write(&archive, web, loader.Options{}); err != nil {
		log.Fatal(err)
	}

	charts, err := registry.ParseRef("oci://" + host + "/charts")
	if err != nil {
		log.Fatal(err)
	}
	pushed, err := client.Push(ctx, charts, registry.Artifact{Metadata: web.Metadata, Archive: bytes.NewReader(archive.Bytes())})
	if err != nil {
		log.Fatal(err)
	}
	tags, err := client.Tags(ctx, registry.Ref{Host: pushed.Ref.Host, Path: pushed.Ref.Path})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pushed.Ref.Path, tags)

	var got bytes.Buffer
	if _, err := client.Pull(ctx, pushed.Ref, &got, registry.PullOptions{}); err != nil {
		log.Fatal(err)
	}
	again, err := loader.LoadArchive("web-1.2.3.tgz", &got)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Name(), again.Version())
	// Output:
	// charts/web [1.2.3]
	// web 1.2.3
}
