// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/internal/hint"
)

// permissionHint is the hint of errors that a missing permission causes.
const permissionHint = "ask an administrator of the cluster for what is missing, or use another user: " +
	"--kube-context, --kube-as-user"

// Hint returns advice for the user of the command line.
func (e *ForbiddenError) Hint() string { return permissionHint }

// Hint returns advice for the user of the command line.
func (e *UnreachableError) Hint() string {
	if hint.IsCertificateError(e.Err) {
		return "the kubeconfig's certificate-authority does not vouch for this server: " +
			"--kube-ca-file names another, --kube-tls-server-name the name that the certificate bears"
	}
	return "kubernetes cluster unreachable: is it running, and is this its address? helm takes it from the " +
		"kubeconfig's current context; " +
		"--kube-context chooses another, --kube-apiserver names one"
}

// Hint returns advice for the user of the command line.
func (e *NoMatchError) Hint() string {
	if strings.Contains(strings.Join(e.Missing, " "), " not set)") {
		return "an object needs an apiVersion and a kind"
	}
	return "definitions in a chart's crds/ are created by an install only: helm upgrade --crds upgrade " +
		"creates and updates them too"
}

// APIHint returns advice for the user of the command line on an API error that the package
// returns unwrapped, or "" if it has none.
func APIHint(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return ""
	}
	details, text := status.Status().Details, status.Status().Message
	switch {
	case apierrors.IsNotFound(err) && details != nil && details.Kind == "namespaces":
		return "helm install --create-namespace makes the namespace too; -n chooses another"
	case strings.Contains(text, "strict decoding error") && strings.Contains(text, "unknown field"):
		return "correct the field, or the apiVersion; --disable-openapi-validation leaves such fields out, with a warning"
	case strings.Contains(text, "field not declared in schema"): // server-side apply rejects such a field
		return "correct the field, or the apiVersion; --server-side=false --disable-openapi-validation leaves such " +
			"fields out, with a warning"
	}
	return ""
}
