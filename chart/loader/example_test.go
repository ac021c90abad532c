// SPDX-License-Identifier: Apache-2.0

package loader_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
)

// A chart from files in memory, and its archive.
func Example() {
	c, err := loader.LoadFiles([]*chart.File{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: web\nversion: 1.2.3\n")},
		{Name: "values.yaml", Data: []byte("replicas: 2\n")},
		{Name: "templates/cm.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")},
	})
	if err != nil {
		log.Fatal(err)
	}
	var archive bytes.Buffer
	if err := loader.Write(&archive, c, loader.Options{}); err != nil {
		log.Fatal(err)
	}
	again, err := loader.LoadArchive("web-1.2.3.tgz", &archive)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Name(), again.Version(), again.Values, len(again.Templates))
	// Output: web 1.2.3 map[replicas:2] 1
}

// A chart in a directory.
func ExampleLoad() {
	c, err := loader.Load("../../examples/networkpolicies")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Name(), len(c.Templates) > 0)
	// Output: networkpolicies true
}
