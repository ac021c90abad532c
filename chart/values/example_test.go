// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"fmt"
	"log"

	"github.com/moonhelm/moonhelm/chart/values"
)

// The result of -f staging.yaml --set image.tag=2.
func Example() {
	vals, err := values.Parse("staging.yaml", []byte("image: {repository: web, tag: 1}\nreplicas: 1\n"))
	if err != nil {
		log.Fatal(err)
	}
	vals = values.Merge(vals, map[string]any{"replicas": 3})
	if err := values.Apply(vals, values.Set, "image.tag=2,hosts={a,b}", nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(vals)
	// Output: map[hosts:[a b] image:map[repository:web tag:2] replicas:3]
}
