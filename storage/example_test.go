// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// Records in memory. Those in a cluster are storage.New(storage.Secrets(client, "shop"),
// "shop").
func Example() {
	ctx, records := context.Background(), storage.New(storage.NewMemory("shop"), "shop")
	for revision := 1; revision <= 2; revision++ {
		r := release.New("web", "shop", revision, nil)
		r.Info.Status = release.Deployed
		if err := records.Create(ctx, r); err != nil {
			log.Fatal(err)
		}
	}

	newest, err := records.Get(ctx, "web", 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("revision", newest.Revision)
	err = records.Create(ctx, newest)
	fmt.Println(errors.Is(err, storage.ErrExists))
	_, err = records.Get(ctx, "mail", 0)
	fmt.Println(err)
	// Output:
	// revision 2
	// true
	// release: not found: "mail" in namespace "shop"
}
