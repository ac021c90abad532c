// SPDX-License-Identifier: Apache-2.0

// Command registry serves the distribution project's registry on 127.0.0.1. It is also the
// library that the tests of this module use:
//
//	go run . -user alice:secret -tls
//
// It keeps its content in memory, or in the directory of -store, prints its address, and runs
// until it is interrupted.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/auth/token"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/sirupsen/logrus"
	"golang.org/x/crypto/bcrypt"
)

// Options are the settings of a registry.
type Options struct {
	// User and Password are the required credentials. If User is "", none are required.
	User, Password string
	// Token makes the registry redirect clients to a token server on another port instead
	// of accepting passwords.
	Token bool
	// TLS serves HTTPS with a certificate of a new authority.
	TLS bool
	// Wrap, if not nil, wraps the registry's handler.
	Wrap func(http.Handler) http.Handler
	// Store is the directory for content, "" for memory. Memory is slow for large blobs,
	// which the library copies each time they grow.
	Store string
	// Addr is the address to listen on, "" for a free port of 127.0.0.1.
	Addr string
}

// Server is a running registry.
type Server struct {
	// Host is the address: "127.0.0.1:5000".
	Host string
	// CA is the file of the certificate authority, "" without TLS.
	CA string

	servers []*httptest.Server
}

// Start starts a registry with its configuration in dir.
func Start(dir string, o Options) (*Server, error) {
	logrus.SetOutput(io.Discard)
	s := &Server{}
	var certificate tls.Certificate
	if o.TLS {
		var err error
		s.CA = filepath.Join(dir, "ca.pem")
		if certificate, err = authority(s.CA); err != nil {
			return nil, err
		}
	}
	config := &configuration.Configuration{
		Storage: configuration.Storage{
			"inmemory": configuration.Parameters{},
			"delete":   configuration.Parameters{"enabled": true},
		},
		Auth: configuration.Auth{},
	}
	if o.Store != "" {
		delete(config.Storage, "inmemory")
		config.Storage["filesystem"] = configuration.Parameters{"rootdirectory": o.Store}
	}
	config.HTTP.Secret = "not one"
	config.Log.AccessLog.Disabled = true
	config.Log.Level = "panic"
	config.Catalog.MaxEntries = 1000
	config.Tags.MaxTags = 1000
	switch {
	case o.Token:
		issuer, err := newIssuer(dir, o.User, o.Password)
		if err != nil {
			return nil, err
		}
		realm := s.serve(issuer, "", o.TLS, certificate)
		config.Auth["token"] = configuration.Parameters{
			"realm": realm + "/token", "service": service, "issuer": issuerName, "rootcertbundle": issuer.bundle,
		}
	case o.User != "":
		hash, err := bcrypt.GenerateFromPassword([]byte(o.Password), bcrypt.MinCost)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, "htpasswd")
		if err := os.WriteFile(path, []byte(o.User+":"+string(hash)+"\n"), 0o600); err != nil {
			return nil, err
		}
		config.Auth["htpasswd"] = configuration.Parameters{"realm": "registry", "path": path}
	}
	var app http.Handler = handlers.NewApp(context.Background(), config)
	if o.Wrap != nil {
		app = o.Wrap(app)
	}
	s.serve(app, o.Addr, o.TLS, certificate)
	s.Host = s.servers[len(s.servers)-1].Listener.Addr().String()
	return s, nil
}

// serve serves h and returns its URL.
func (s *Server) serve(h http.Handler, addr string, secure bool, certificate tls.Certificate) string {
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the tests expect clients to reject the certificate
	if addr != "" {
		if l, err := net.Listen("tcp", addr); err == nil {
			server.Listener.Close()
			server.Listener = l
		}
	}
	if secure {
		server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
		server.StartTLS()
	} else {
		server.Start()
	}
	s.servers = append(s.servers, server)
	return server.URL
}

// Close stops the registry.
func (s *Server) Close() {
	for _, server := range s.servers {
		server.CloseClientConnections()
		server.Close()
	}
}

// authority creates a self-signed certificate for 127.0.0.1 and writes it to path.
func authority(path string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "registry of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(path, text, 0o600)
}
