// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/moonhelm/moonhelm/test/cluster/internal/controlplane"
)

func TestCluster(t *testing.T) {
	begun := time.Now()
	r := start(t, command("up", "--until-stdin-closes"))
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("it took %s until the cluster was ready", took)
	} else {
		t.Logf("ready after %s", took.Round(time.Millisecond))
	}
	dir := r.facts["dir"]

	t.Run("a deployment becomes available", func(t *testing.T) {
		d := &appsv1.Deployment{ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
			Template: podTemplate(corev1.RestartPolicyAlways),
		}}
		d.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "nowhere/init:1"}}
		if _, err := r.admin.AppsV1().Deployments("default").Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "three replicas are available", func() (bool, string) {
			d, err := r.admin.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return d.Status.AvailableReplicas == 3, fmt.Sprintf("%+v", d.Status)
		})
	})
	t.Run("a job completes", func(t *testing.T) {
		if !jobEnds(t, r.admin, "good", podTemplate(corev1.RestartPolicyOnFailure)) {
			t.Error("the job failed")
		}
	})
	t.Run("a job whose pod fails, fails", func(t *testing.T) {
		if jobEnds(t, r.admin, "bad", podTemplate(corev1.RestartPolicyNever, "exit-code=3")) {
			t.Error("the job completed")
		}
	})
	t.Run("a bare pod completes", func(t *testing.T) {
		createPod(t, r.admin, "once", podTemplate(corev1.RestartPolicyNever))
		pod := becomes(t, r.admin, "once", "succeeds", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
		if end := pod.Status.ContainerStatuses[0].State.Terminated; end == nil || end.ExitCode != 0 || end.Reason != "Completed" {
			t.Errorf("its container ended so: %+v", end)
		}
	})
	t.Run("a failing pod fails with its code and its last lines", func(t *testing.T) {
		createPod(t, r.admin, "fails", podTemplate(corev1.RestartPolicyNever, "exit-code=3", "logs=one\ntwo\nout of cheese"))
		pod := becomes(t, r.admin, "fails", "fails", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
		if end := pod.Status.ContainerStatuses[0].State.Terminated; end == nil || end.ExitCode != 3 || end.Reason != "Error" {
			t.Errorf("its container ended so: %+v", end)
		}
		log, err := r.admin.CoreV1().Pods("default").GetLogs("fails", &corev1.PodLogOptions{TailLines: new(int64(2))}).DoRaw(t.Context())
		if err != nil || string(log) != "two\nout of cheese\n" {
			t.Errorf("its log is %q, %v", log, err)
		}
	})
	t.Run("a failing init container keeps the pod from running", func(t *testing.T) {
		tmpl := podTemplate(corev1.RestartPolicyNever, "init-exit-code=7")
		tmpl.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "nowhere/init:1"}}
		createPod(t, r.admin, "init-fails", tmpl)
		pod := becomes(t, r.admin, "init-fails", "fails", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
		if end := pod.Status.InitContainerStatuses[0].State.Terminated; end == nil || end.ExitCode != 7 {
			t.Errorf("its init container ended so: %+v", end)
		}
	})
	t.Run("a crashing pod backs off and is restarted", func(t *testing.T) {
		createPod(t, r.admin, "crashes", podTemplate(corev1.RestartPolicyAlways, "exit-code=2", "restart-after=300ms"))
		becomes(t, r.admin, "crashes", "was restarted twice and waits", func(p *corev1.Pod) bool {
			c := firstContainer(p)
			return c.RestartCount >= 2 && c.State.Waiting != nil && c.State.Waiting.Reason == "CrashLoopBackOff" &&
				c.LastTerminationState.Terminated.ExitCode == 2 && !ready(p)
		})
	})
	t.Run("a pod that crashes once recovers", func(t *testing.T) {
		createPod(t, r.admin, "recovers", podTemplate(corev1.RestartPolicyAlways, "exit-code=2", "exit-times=1", "restart-after=300ms"))
		becomes(t, r.admin, "recovers", "is ready after one restart", func(p *corev1.Pod) bool {
			return ready(p) && firstContainer(p).RestartCount == 1
		})
	})
	t.Run("readiness comes late or never", func(t *testing.T) {
		createPod(t, r.admin, "never", podTemplate(corev1.RestartPolicyAlways, "never-ready=true"))
		createPod(t, r.admin, "late", podTemplate(corev1.RestartPolicyAlways, "ready-after=2s"))
		late := becomes(t, r.admin, "late", "runs", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
		if ready(late) {
			t.Error("late is ready at once")
		}
		running := time.Now()
		becomes(t, r.admin, "late", "is ready", ready)
		if waited := time.Since(running); waited < time.Second {
			t.Errorf("late was ready after %s", waited)
		}
		if never := getPod(t, r.admin, "never"); ready(never) || never.Status.Phase != corev1.PodRunning {
			t.Errorf("never is %s", summary(never))
		}
	})
	t.Run("an image that cannot be pulled", func(t *testing.T) {
		createPod(t, r.admin, "no-image", podTemplate(corev1.RestartPolicyAlways, "waiting=ImagePullBackOff"))
		becomes(t, r.admin, "no-image", "waits for its image", func(p *corev1.Pod) bool {
			c := firstContainer(p)
			return c.State.Waiting != nil && c.State.Waiting.Reason == "ImagePullBackOff"
		})
	})
	t.Run("a stateful set gets its volumes", func(t *testing.T) { statefulSet(t, r.admin) })
	t.Run("a load balancer gets an address", func(t *testing.T) {
		s := &corev1.Service{ObjectMeta: meta("lb"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80)}}}}
		if _, err := r.admin.CoreV1().Services("default").Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the service has an address", func() (bool, string) {
			s, err := r.admin.CoreV1().Services("default").Get(t.Context(), "lb", metav1.GetOptions{})
			return err == nil && len(s.Status.LoadBalancer.Ingress) == 1, fmt.Sprint(s, err)
		})
	})
	t.Run("a custom resource can be defined and used", func(t *testing.T) { customResource(t, r.admin) })
	t.Run("following a log ends with the pod", func(t *testing.T) {
		createPod(t, r.admin, "talks", podTemplate(corev1.RestartPolicyNever, "exit-after=1s"))
		becomes(t, r.admin, "talks", "runs", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
		log, err := r.admin.CoreV1().Pods("default").GetLogs("talks", &corev1.PodLogOptions{Follow: true}).DoRaw(t.Context())
		if err != nil || !strings.Contains(string(log), "container main started") {
			t.Errorf("its log is %q, %v", log, err)
		}
		if pod := getPod(t, r.admin, "talks"); pod.Status.Phase != corev1.PodSucceeded {
			t.Errorf("the log ended before the pod: %s", summary(pod))
		}
	})
	t.Run("each run of a container has its log", func(t *testing.T) { logsOfRuns(t, r.admin) })
	t.Run("a namespace goes away with what is in it", func(t *testing.T) { namespaceGoes(t, r.admin) })
	t.Run("the restricted user may do what is bound", func(t *testing.T) { restrictions(t, r) })

	r.stop()
	gone(t, dir)
}

func firstContainer(p *corev1.Pod) corev1.ContainerStatus {
	if len(p.Status.ContainerStatuses) == 0 {
		return corev1.ContainerStatus{}
	}
	return p.Status.ContainerStatuses[0]
}

// jobEnds runs a job without retries and reports whether it completed.
func jobEnds(t *testing.T, c kubernetes.Interface, name string, tmpl corev1.PodTemplateSpec) bool {
	t.Helper()
	job := &batchv1.Job{ObjectMeta: meta(name), Spec: batchv1.JobSpec{BackoffLimit: new(int32), Template: tmpl}}
	if _, err := c.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	completed := false
	eventually(t, "job "+name+" ends", func() (bool, string) {
		job, err := c.BatchV1().Jobs("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, condition := range job.Status.Conditions {
			if condition.Status == corev1.ConditionTrue && (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) {
				completed = condition.Type == batchv1.JobComplete
				return true, ""
			}
		}
		return false, fmt.Sprintf("%+v", job.Status)
	})
	return completed
}

func logsOfRuns(t *testing.T, c kubernetes.Interface) {
	createPod(t, c, "again", podTemplate(corev1.RestartPolicyAlways, "exit-code=1", "restart-after=60s", "logs=now", "logs-previous=before"))
	createPod(t, c, "unborn", podTemplate(corev1.RestartPolicyAlways, "waiting=ImagePullBackOff"))
	becomes(t, c, "again", "backs off", func(p *corev1.Pod) bool { return firstContainer(p).LastTerminationState.Terminated != nil })
	becomes(t, c, "unborn", "waits", func(p *corev1.Pod) bool { return firstContainer(p).State.Waiting != nil })
	for _, test := range []struct {
		name, pod string
		previous  bool
		want      string
	}{
		{"the run of now", "again", false, "now\n"},
		{"the run before", "again", true, "before\n"},
		{"a container that waits", "unborn", false, "is waiting to start: ImagePullBackOff"},
		{"before a container that waits", "unborn", true, "previous terminated container"},
	} {
		t.Run(test.name, func(t *testing.T) {
			log, err := c.CoreV1().Pods("default").GetLogs(test.pod, &corev1.PodLogOptions{Previous: test.previous}).DoRaw(t.Context())
			if got := string(log) + fmt.Sprint(err); !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func statefulSet(t *testing.T, c kubernetes.Interface) {
	set := &appsv1.StatefulSet{ObjectMeta: meta("db"), Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(2)),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
		Template: podTemplate(corev1.RestartPolicyAlways),
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}},
	}}
	if _, err := c.AppsV1().StatefulSets("default").Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "two replicas are ready", func() (bool, string) {
		set, err := c.AppsV1().StatefulSets("default").Get(t.Context(), "db", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return set.Status.ReadyReplicas == 2, fmt.Sprintf("%+v", set.Status)
	})
}

func customResource(t *testing.T, c kubernetes.Interface) {
	const definition = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": {"name": "crontabs.example.com"},
		"spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "CronTab", "plural": "crontabs"},
			"versions": [{"name": "v1", "served": true, "storage": true,
				"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}`
	const object = `{"apiVersion": "example.com/v1", "kind": "CronTab", "metadata": {"name": "mine"}}`
	post := func(path, body string) error {
		return c.Discovery().RESTClient().Post().AbsPath(path).
			SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(t.Context()).Error()
	}
	if err := post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an object of the new kind is created", func() (bool, string) {
		err := post("/apis/example.com/v1/namespaces/default/crontabs", object)
		return err == nil, fmt.Sprint(err)
	})
}

func namespaceGoes(t *testing.T, c kubernetes.Interface) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "short-lived"}}
	if _, err := c.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	tmpl := podTemplate(corev1.RestartPolicyAlways)
	pod := &corev1.Pod{ObjectMeta: tmpl.ObjectMeta, Spec: tmpl.Spec}
	pod.Name = "inhabitant"
	eventually(t, "a pod is let in", func() (bool, string) {
		_, err := c.CoreV1().Pods(ns.Name).Create(t.Context(), pod, metav1.CreateOptions{})
		return err == nil, fmt.Sprint(err)
	})
	if err := c.CoreV1().Namespaces().Delete(t.Context(), ns.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the namespace is gone", func() (bool, string) {
		_, err := c.CoreV1().Namespaces().Get(t.Context(), ns.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}

func restrictions(t *testing.T, r running) {
	read := func() error {
		_, err := r.restricted.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		return err
	}
	if err := read(); !apierrors.IsForbidden(err) {
		t.Fatalf("without permissions, reading pods gives %v", err)
	}
	if _, err := r.restricted.Discovery().ServerVersion(); err != nil {
		t.Errorf("discovery is refused: %v", err)
	}
	role := &rbacv1.Role{ObjectMeta: meta("reader"), Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}}}
	if _, err := r.admin.RbacV1().Roles("default").Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: meta("reader"),
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: r.facts["restricted-user"]}}}
	if _, err := r.admin.RbacV1().RoleBindings("default").Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the restricted user may list pods", func() (bool, string) {
		err := read()
		return err == nil, fmt.Sprint(err)
	})
	if _, err := r.restricted.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("reading secrets gives %v", err)
	}
}

// gone fails the test unless the cluster's directory and its processes are gone.
func gone(t *testing.T, dir string) {
	t.Helper()
	eventually(t, "nothing is left of the cluster in "+dir, func() (bool, string) {
		if _, err := os.Stat(dir); err == nil {
			return false, "the directory"
		}
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range lines {
			if line, err := os.ReadFile(path); err == nil && strings.Contains(string(line), dir) {
				return false, "process " + path
			}
		}
		return true, ""
	})
}

func TestUpTwice(t *testing.T) {
	first := start(t, command("up", "--until-stdin-closes"))
	second := start(t, command("up", "--until-stdin-closes"))
	createPod(t, first.admin, "mine", podTemplate(corev1.RestartPolicyAlways))
	becomes(t, first.admin, "mine", "is ready", ready)
	if _, err := second.admin.CoreV1().Pods("default").Get(t.Context(), "mine", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the second cluster knows the first one's pod: %v", err)
	}
	first.stop()
	gone(t, first.facts["dir"])
	if _, err := second.admin.Discovery().ServerVersion(); err != nil {
		t.Errorf("the second cluster went with the first: %v", err)
	}
}

func TestKilledProcessCleanup(t *testing.T) {
	t.Run("the test itself", func(t *testing.T) {
		tester := command("up")
		tester.Env = append(tester.Env, asCommand+"=tester")
		r := start(t, tester)
		_ = tester.Process.Kill()
		gone(t, r.facts["dir"])
	})
	t.Run("the supervisor", func(t *testing.T) {
		cmd := command("up", "--until-stdin-closes")
		r := start(t, cmd)
		_ = cmd.Process.Kill()
		gone(t, r.facts["dir"])
	})
	t.Run("the parent that was named", func(t *testing.T) {
		parent := exec.Command("sleep", "1000")
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = parent.Process.Kill(); _ = parent.Wait() })
		r := start(t, command("up", "--with-parent", strconv.Itoa(parent.Process.Pid)))
		_ = parent.Process.Kill()
		gone(t, r.facts["dir"])
	})
}

func TestDetach(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	say := func(args ...string) (string, error) {
		cmd := command(append(args, "--dir", dir)...)
		cmd.Stderr = nil
		out, err := cmd.Output()
		return string(out), err
	}
	t.Cleanup(func() { _, _ = say("down") })
	if _, err := say("status"); err == nil {
		t.Error("it runs before it was started")
	}
	out, err := say("up", "--detach")
	if err != nil || !strings.Contains(out, "kubeconfig="+filepath.Join(dir, controlplane.AdminKubeconfig)+"\n") {
		t.Fatalf("up says %q, %v", out, err)
	}
	if path, err := say("kubeconfig"); err != nil || strings.TrimSpace(path) != filepath.Join(dir, controlplane.AdminKubeconfig) {
		t.Errorf("kubeconfig says %q, %v", path, err)
	}
	if _, err := say("up"); err == nil {
		t.Error("a second one started in the same directory")
	}
	if out, err := say("status"); err != nil || !strings.Contains(out, "pid=") {
		t.Errorf("status says %q, %v", out, err)
	}
	if _, err := say("down"); err != nil {
		t.Fatal(err)
	}
	gone(t, dir)
}

func TestUpForeignDirectory(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := up(context.Background(), dir, options{}, strings.NewReader(""), io.Discard); err == nil {
		t.Error("a cluster started in someone's directory")
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestUpAfterCrash(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{lockFile, "old"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("99999999"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := os.Stat(filepath.Join(dir, "old")); err == nil {
		t.Error("the old cluster's file is still there")
	}
	if pid, err := owner(dir); err != nil || pid != os.Getpid() {
		t.Errorf("the owner is %d, %v", pid, err)
	}
	if _, err := claim(dir); err == nil {
		t.Error("the directory was claimed twice")
	}
}
