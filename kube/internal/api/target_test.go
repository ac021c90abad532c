// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/release"
)

func TestForeign(t *testing.T) {
	owner := kube.Owner{Release: "web", Namespace: "prod"}
	ours := map[string]string{release.ManagedByLabel: "Helm"}
	for _, test := range []struct {
		labels, annotations map[string]string
		foreign             string // part of the reason, "" for objects of the release
		others              bool
	}{
		{ours, map[string]string{release.NameAnnotation: "web", release.NamespaceAnnotation: "prod"}, "", false},
		{ours, map[string]string{release.NameAnnotation: "db", release.NamespaceAnnotation: "prod"}, `release "db"`, true},
		{ours, map[string]string{release.NameAnnotation: "web", release.NamespaceAnnotation: "test"}, `namespace "test"`, true},
		{nil, nil, "not made by Helm", false},
		{map[string]string{release.ManagedByLabel: "Argo"}, nil, `is "Argo"`, false},
		{nil, map[string]string{release.NameAnnotation: "web", release.NamespaceAnnotation: "prod"}, release.ManagedByLabel, false},
		{ours, map[string]string{release.NameAnnotation: "web"}, release.NamespaceAnnotation, false},
		{ours, nil, release.NameAnnotation, false},
	} {
		t.Run(test.foreign, func(t *testing.T) {
			m := &Metadata{Labels: test.labels, Annotations: test.annotations}
			why := m.Foreign(owner)
			if (why == "") != (test.foreign == "") || !strings.Contains(why, test.foreign) {
				t.Errorf("%v %v: %q", test.labels, test.annotations, why)
			}
			if m.HasOtherOwner(owner) != test.others {
				t.Errorf("%v %v: another's: %v", test.labels, test.annotations, !test.others)
			}
		})
	}
}

func TestPathWithoutName(t *testing.T) {
	target := &Target{Resource: &kube.Resource{Plural: "secrets", Namespaced: true, APIVersion: "v1"}, Namespace: "ns"}
	f := &apitest.Fake{}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	client := kube.New(kube.Options{REST: func() (*rest.Config, error) { return &rest.Config{Host: server.URL}, nil }})
	if _, err := client.Call(t.Context(), http.MethodGet, target.Path(), nil, nil, nil); err == nil || len(f.Asked) != 0 {
		t.Errorf("asked for all of them: %v", err)
	}
}
