// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// asCommand makes the test's own binary run the command under test.
const asCommand = "MOONHELM_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	switch os.Getenv(asCommand) {
	case "":
		os.Exit(m.Run())
	case "tester":
		actAsTester()
	default:
		main()
	}
}

// actAsTester is the main function of a test process that starts a cluster and is then killed.
func actAsTester() {
	cmd := command("up", "--until-stdin-closes")
	cmd.Stdout = os.Stdout
	if _, err := cmd.StdinPipe(); err != nil {
		panic(err)
	}
	if err := cmd.Run(); err != nil {
		panic(err)
	}
}

func command(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asCommand+"=yes")
	cmd.Stderr = os.Stderr
	return cmd
}

// running is a cluster that a test has started.
type running struct {
	facts      map[string]string
	admin      kubernetes.Interface
	restricted kubernetes.Interface
	stop       func()
}

// start runs a command that starts a cluster, and reads the paths from its output.
func start(t *testing.T, cmd *exec.Cmd) running {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	r := running{facts: map[string]string{}, stop: func() {
		if !stopped {
			stopped = true
			_ = in.Close()
			_ = cmd.Wait()
		}
	}}
	t.Cleanup(r.stop)
	r.read(t, out)
	return r
}

func (r *running) read(t *testing.T, out io.Reader) {
	t.Helper()
	scan := bufio.NewScanner(out)
	for scan.Scan() {
		name, value, _ := strings.Cut(scan.Text(), "=")
		r.facts[name] = value
		if name == "ready" {
			r.admin = client(t, r.facts["kubeconfig"])
			r.restricted = client(t, r.facts["restricted-kubeconfig"])
			return
		}
	}
	t.Fatalf("the cluster ended before it was ready; it said %v", r.facts)
}

func client(t *testing.T, kubeconfig string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eventually fails the test unless the condition holds within half a minute.
func eventually(t *testing.T, what string, holds func() (bool, string)) {
	t.Helper()
	var last string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		ok, now := holds()
		if ok {
			return
		}
		last = now
	}
	t.Fatalf("never happened: %s; last seen: %s", what, last)
}

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "default"} }

// podTemplate returns a pod with annotations, given as "name=value".
func podTemplate(policy corev1.RestartPolicy, notes ...string) corev1.PodTemplateSpec {
	annotations := map[string]string{}
	for _, n := range notes {
		k, v, _ := strings.Cut(n, "=")
		annotations["moonhelm.test/"+k] = v
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "x"}, Annotations: annotations},
		Spec: corev1.PodSpec{
			RestartPolicy:                 policy,
			TerminationGracePeriodSeconds: new(int64),
			Containers:                    []corev1.Container{{Name: "main", Image: "nowhere/image:1"}},
		},
	}
}

func createPod(t *testing.T, c kubernetes.Interface, name string, tmpl corev1.PodTemplateSpec) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: tmpl.ObjectMeta, Spec: tmpl.Spec}
	pod.Name, pod.Namespace = name, "default"
	if _, err := c.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func getPod(t *testing.T, c kubernetes.Interface, name string) *corev1.Pod {
	t.Helper()
	pod, err := c.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func summary(pod *corev1.Pod) string {
	return fmt.Sprintf("phase %s, ready %v, containers %+v", pod.Status.Phase, ready(pod), pod.Status.ContainerStatuses)
}

// becomes waits until the pod meets the condition.
func becomes(t *testing.T, c kubernetes.Interface, name, what string, is func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	eventually(t, "pod "+name+" "+what, func() (bool, string) {
		pod = getPod(t, c, name)
		return is(pod), summary(pod)
	})
	return pod
}
