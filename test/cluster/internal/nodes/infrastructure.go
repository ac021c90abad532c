// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

const (
	// storageClass is the default class; its volumes are available at once.
	storageClass = "standard"
	provisioner  = prefix + "volumes"
)

// startInfrastructure simulates a cloud provider: it creates a volume for each claim of the
// default class and sets the address of each service of type LoadBalancer. It ignores objects
// with the annotation moonhelm.test/never-ready.
func startInfrastructure(ctx context.Context, c kubernetes.Interface) error {
	_, err := c.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: storageClass, Annotations: map[string]string{
			"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner: provisioner,
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the default storage class: %w", err)
	}
	factory := informers.NewSharedInformerFactory(c, 10*time.Second)
	_, err = factory.Core().V1().PersistentVolumeClaims().Informer().AddEventHandler(always(func(o any) {
		provide(ctx, c, o.(*corev1.PersistentVolumeClaim))
	}))
	if err != nil {
		return err
	}
	_, err = factory.Core().V1().PersistentVolumes().Informer().AddEventHandler(always(func(o any) {
		reclaim(ctx, c, o.(*corev1.PersistentVolume))
	}))
	if err != nil {
		return err
	}
	var last atomic.Uint32
	_, err = factory.Core().V1().Services().Informer().AddEventHandler(always(func(o any) {
		expose(ctx, c, o.(*corev1.Service), &last)
	}))
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	return nil
}

func always(do func(any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: do, UpdateFunc: func(_, updated any) { do(updated) }}
}

// provide creates the volume of a claim. The next resync retries failures, such as a volume of
// the same name that is being deleted.
func provide(ctx context.Context, c kubernetes.Interface, claim *corev1.PersistentVolumeClaim) {
	if claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil || claim.Annotations[prefix+"never-ready"] == "true" ||
		claim.Spec.StorageClassName == nil || *claim.Spec.StorageClassName != storageClass {
		return
	}
	_, _ = c.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "pvc-" + string(claim.UID),
			Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": provisioner},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      claim.Spec.Resources.Requests,
			AccessModes:                   claim.Spec.AccessModes,
			VolumeMode:                    claim.Spec.VolumeMode,
			StorageClassName:              storageClass,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere/" + string(claim.UID)}},
			ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
		},
	}, metav1.CreateOptions{})
}

// reclaim deletes a volume without a claim.
func reclaim(ctx context.Context, c kubernetes.Interface, v *corev1.PersistentVolume) {
	if v.Status.Phase == corev1.VolumeReleased && v.Spec.StorageClassName == storageClass && v.DeletionTimestamp == nil {
		_ = c.CoreV1().PersistentVolumes().Delete(ctx, v.Name, metav1.DeleteOptions{})
	}
}

// expose sets the address of a load balancer.
func expose(ctx context.Context, c kubernetes.Interface, s *corev1.Service, last *atomic.Uint32) {
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer || len(s.Status.LoadBalancer.Ingress) > 0 ||
		s.DeletionTimestamp != nil || s.Annotations[prefix+"never-ready"] == "true" {
		return
	}
	next := s.DeepCopy()
	n := last.Add(1)
	next.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: fmt.Sprintf("198.51.%d.%d", 100+n/250, 1+n%250)}}
	_, _ = c.CoreV1().Services(s.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
}
