#!/bin/sh
for arg in "$@"; do echo "[$arg]"; done
echo "namespace $HELM_NAMESPACE debug $HELM_DEBUG context $HELM_KUBECONTEXT kubeconfig ${KUBECONFIG:-none}"
