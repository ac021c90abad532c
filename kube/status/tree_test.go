// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/internal/kubetest"
	"github.com/moonhelm/moonhelm/internal/yaml"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
)

// server is a cluster with further lists, and the lists that were asked for.
type server struct {
	*kubetest.Server
	lists map[string]string // the items, in YAML, by path

	mu    sync.Mutex
	asked []string
}

// start starts a cluster that has the objects of a manifest.
func start(t *testing.T, objects string, lists map[string]string) (*server, *Reader) {
	t.Helper()
	s := &server{Server: kubetest.Start(), lists: lists}
	t.Cleanup(s.Close)
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	for _, o := range parse(t, objects) {
		m, err := o.Map()
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		group := map[string]string{"Deployment": "/apis/apps/v1", "Job": "/apis/batch/v1"}[o.Kind]
		if group == "" {
			group = "/api/v1"
		}
		path := front.URL + group + "/namespaces/default/" + strings.ToLower(o.Kind) + "s"
		answer, err := http.Post(path, "application/json", strings.NewReader(string(body)))
		if err != nil || answer.StatusCode != http.StatusCreated {
			t.Fatalf("create %s: %v, %v", o.Name, answer, err)
		}
		answer.Body.Close()
	}
	client := kube.New(kube.Options{REST: func() (*rest.Config, error) { return &rest.Config{Host: front.URL}, nil }})
	return s, New(client)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.Query().Has("limit") {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, r.URL.Path+" "+r.URL.Query().Get("labelSelector"))
		text, ok := s.lists[r.URL.Path]
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		case text == "forbidden":
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"pods is forbidden: User cannot list","code":403}`)
		default:
			var items []any
			if err := yaml.Unmarshal([]byte(text), &items); err != nil {
				panic(err)
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
		}
		return
	}
	r.RequestURI = ""
	target := *r.URL
	target.Scheme, target.Host = "http", strings.TrimPrefix(s.Config().Host, "http://")
	r.URL, r.Host = &target, target.Host
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	for k, v := range answer.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(answer.StatusCode)
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := answer.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			break
		}
	}
	fmt.Fprint(w, b.String())
}

func parse(t *testing.T, text string) []*manifest.Object {
	t.Helper()
	objects, err := manifest.ParseManifest(text)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// outline returns a line for each node, indented by its depth.
func outline(nodes []*Node, indent string) string {
	var b strings.Builder
	for _, n := range nodes {
		fmt.Fprintf(&b, "%s%s/%s %s", indent, n.Kind, n.Name, n.State)
		for _, s := range []string{n.Ready, n.Reason} {
			if s != "" {
				b.WriteString(", " + s)
			}
		}
		b.WriteString("\n" + outline(n.Children, indent+"  "))
	}
	return b.String()
}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, uid: u-web, generation: 1}
spec: {replicas: 2, selector: {matchLabels: {app: web}}}
status: {observedGeneration: 1, replicas: 2, updatedReplicas: 2, readyReplicas: 1, availableReplicas: 1}
`

const sets = "/apis/apps/v1/namespaces/default/replicasets"

const pods = "/api/v1/namespaces/default/pods"

const webSets = `
- metadata: {name: web-2, uid: u-2, creationTimestamp: "2026-05-04T10:00:00Z", ownerReferences: [{uid: u-web, controller: true}]}
  spec: {replicas: 2}
- metadata: {name: web-1, uid: u-1, creationTimestamp: "2026-05-03T10:00:00Z", ownerReferences: [{uid: u-web, controller: true}]}
  spec: {replicas: 0}
- metadata: {name: other, uid: u-3, ownerReferences: [{uid: u-other, controller: true}]}
  spec: {replicas: 1}
`

func TestTree(t *testing.T) {
	for _, test := range []struct {
		name, live, wanted string // wanted is the manifest, live by default
		lists              map[string]string
		want               string
		asked              []string
		notes              []string
	}{
		{name: "a deployment with its pods", live: web, lists: map[string]string{sets: webSets, pods: `
- metadata: {name: web-2-b, uid: p-b, ownerReferences: [{uid: u-2, controller: true}]}
  spec: {initContainers: [{name: init}], containers: [{name: app}, {name: proxy}]}
  status:
    phase: Running
    initContainerStatuses: [{name: init, ready: true, state: {terminated: {exitCode: 0}}}]
    containerStatuses:
    - {name: app, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}
    - {name: proxy, ready: true, state: {running: {}}}
- metadata: {name: web-2-a, uid: p-a, ownerReferences: [{uid: u-2, controller: true}]}
  spec: {containers: [{name: app}]}
  status: {phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: app, ready: true, state: {running: {}}}]}
- metadata: {name: of-others, uid: p-c}
`},
			want: `Deployment/web progressing, 1/2, 1 of 2 pods available
  ReplicaSet/web-2 progressing, 0/2, 0 of 2 pods created
    Pod/web-2-a ready, 1/1
      Container/app ready
    Pod/web-2-b failing, 1/2, app: CrashLoopBackOff, crashed: exit code 137, OOMKilled
      InitContainer/init completed
      Container/app failing, CrashLoopBackOff, crashed: exit code 137, OOMKilled
      Container/proxy ready
`, asked: []string{sets + " app=web", pods + " app=web"}},
		{name: "objects without descendants take no list", live: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
			want: "ConfigMap/a ready\n"},
		{name: "missing objects", wanted: "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\n" +
			"apiVersion: x.example.com/v1\nkind: Thing\nmetadata: {name: b}\n",
			want: "Secret/a missing, does not exist\nThing/b missing, the cluster has no such kind\n"},
		{name: "lists that are forbidden", live: web, lists: map[string]string{sets: webSets, pods: "forbidden"},
			want: `Deployment/web progressing, 1/2, 1 of 2 pods available
  ReplicaSet/web-2 progressing, 0/2, 0 of 2 pods created
`, asked: []string{sets + " app=web", pods + " app=web"}, notes: []string{"you may not list pods in namespace default"}},
		{name: "owners in a circle", live: web, lists: map[string]string{sets: `
- metadata: {name: a, uid: u-a, ownerReferences: [{uid: u-b, controller: true}]}
- metadata: {name: b, uid: u-b, ownerReferences: [{uid: u-a, controller: true}, {uid: u-b}]}
- metadata: {name: self, uid: u-s, ownerReferences: [{uid: u-s, controller: true}]}
`}, want: "Deployment/web progressing, 1/2, 1 of 2 pods available\n",
			asked: []string{sets + " app=web", pods + " app=web"}},
		{name: "a service and its endpoints", live: "apiVersion: v1\nkind: Service\nmetadata: {name: a, uid: u}\nspec: {clusterIP: 1.2.3.4}\n",
			lists: map[string]string{"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices": `
- {metadata: {name: a-1, uid: e1, ownerReferences: [{uid: u, controller: true}]}, endpoints: [{conditions: {ready: true}}, {conditions: {ready: false}}]}
- {metadata: {name: a-2, uid: e2, ownerReferences: [{uid: u, controller: true}]}, endpoints: null}
`}, want: `Service/a ready
  EndpointSlice/a-1 ready, 1/2
  EndpointSlice/a-2 progressing, 0/0, no endpoint is ready
`, asked: []string{"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices kubernetes.io/service-name in (a)"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, r := start(t, test.live, test.lists)
			wanted := test.wanted
			if wanted == "" {
				wanted = test.live
			}
			tree, err := r.Tree(t.Context(), parse(t, wanted), "default")
			if err != nil {
				t.Fatal(err)
			}
			if got := outline(tree.Objects, ""); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			slices.Sort(s.asked)
			slices.Sort(test.asked)
			if !slices.Equal(s.asked, test.asked) || !slices.Equal(tree.Notes, test.notes) {
				t.Errorf("asked for %q, want %q; notes %q, want %q", s.asked, test.asked, tree.Notes, test.notes)
			}
		})
	}
}

// A server whose list has no end does not keep the reader.
func TestTreeEndlessList(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprint(w, `{"metadata":{"continue":"more"},"items":[null]}`)
	}))
	defer s.Close()
	r := New(kube.New(kube.Options{REST: func() (*rest.Config, error) { return &rest.Config{Host: s.URL}, nil }}))
	kind := created()[0]
	found, note, err := r.list(t.Context(), listing{place: api.Collection{Resource: &kind, Namespace: "a"}})
	if err != nil || len(found) != 0 || note != "only 0 deployments in namespace a were read" || asked != 20 {
		t.Errorf("got %d nodes, %q, %v after %d requests", len(found), note, err, asked)
	}
}

func TestContainerStates(t *testing.T) {
	for _, test := range []struct{ name, status, want string }{
		{"no status", ``, "progressing, not started"},
		{"creating", `{name: a, state: {waiting: {reason: ContainerCreating}}}`, "progressing, ContainerCreating"},
		{"an image", `{name: a, image: "web:2", state: {waiting: {reason: ErrImagePull, message: long}}}`,
			"failing, ErrImagePull: its image web:2 cannot be pulled"},
		{"a config error", `{name: a, state: {waiting: {reason: CreateContainerConfigError, message: "no Secret\nmore"}}}`,
			"failing, CreateContainerConfigError: no Secret"},
		{"not ready", `{name: a, state: {running: {}}}`, "progressing, running, not ready"},
		{"ended", `{name: a, state: {terminated: {exitCode: 3}}}`, "failing, ended with exit code 3"},
		{"completed", `{name: a, state: {terminated: {exitCode: 0}}}`, "completed, "},
		{"restarted", `{name: a, state: {running: {}}, lastState: {terminated: {exitCode: 1}}}`, "failing, crashed: exit code 1"},
		{"ready again", `{name: a, ready: true, state: {running: {}}, lastState: {terminated: {exitCode: 1}}}`, "ready, "},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := parse(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a}]}\n"+
				"status: {phase: Pending, containerStatuses: ["+test.status+"]}\n")[0]
			m, err := o.Map()
			if err != nil {
				t.Fatal(err)
			}
			n := newNode("v1", "Pod", "default", "a", m)
			if len(n.Children) != 1 {
				t.Fatalf("got %d containers, want 1", len(n.Children))
			}
			if got := string(n.Children[0].State) + ", " + n.Children[0].Reason; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestPodReasons(t *testing.T) {
	for _, test := range []struct{ name, status, want string }{
		{"unschedulable", `{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable,
			message: "0/2 nodes are available: 2 Insufficient cpu."}]}`, "failing, not scheduled: 2 Insufficient cpu."},
		{"evicted", `{phase: Failed, reason: Evicted, message: "low on disk"}`, "failing, Evicted: low on disk"},
		{"succeeded", `{phase: Succeeded}`, "completed, "},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := parse(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nstatus: "+test.status+"\n")[0].Map()
			if err != nil {
				t.Fatal(err)
			}
			n := newNode("v1", "Pod", "default", "a", m)
			if got := string(n.State) + ", " + n.Reason; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
