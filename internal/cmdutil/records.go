// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"fmt"

	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/storage"
)

// Records opens the release records of a namespace ("" to list all namespaces) with the driver in
// HELM_DRIVER.
func (f *Factory) Records(namespace string) (*storage.Storage, error) {
	driver, err := f.driver(namespace)
	if err != nil {
		return nil, err
	}
	return storage.New(driver, namespace), nil
}

func (f *Factory) driver(namespace string) (storage.Driver, error) {
	name := f.Settings.Driver
	switch name {
	case "memory":
		return storage.NewMemory(namespace), nil
	case "sql":
		db, err := storage.PostgreSQL(f.Getenv("HELM_DRIVER_SQL_CONNECTION_STRING"), namespace)
		if err != nil {
			return nil, hint.With(err, "HELM_DRIVER_SQL_CONNECTION_STRING is the connection string")
		}
		f.closers = append(f.closers, func() error { db.Close(); return nil })
		return db, nil
	case "", "secret", "secrets", "configmap", "configmaps":
	default:
		return nil, fmt.Errorf("unknown driver %q: HELM_DRIVER must be secret, configmap, sql or memory", name)
	}
	cluster, err := f.Cluster()
	if err != nil {
		return nil, err
	}
	if name == "configmap" || name == "configmaps" {
		return storage.ConfigMaps(cluster, namespace), nil
	}
	return storage.Secrets(cluster, namespace), nil
}
