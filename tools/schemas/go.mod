module github.com/moonhelm/moonhelm/tools/schemas

go 1.26.0

require github.com/moonhelm/moonhelm v0.0.0

require (
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)

replace github.com/moonhelm/moonhelm => ../..
