module github.com/moonhelm/moonhelm/test/release

go 1.26.0

require (
	github.com/ProtonMail/go-crypto v1.5.2
	go.yaml.in/yaml/v3 v3.0.6
)

require (
	github.com/cloudflare/circl v1.6.3 // indirect
	golang.org/x/crypto v0.57.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
