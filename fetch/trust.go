// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/moonhelm/moonhelm/internal/file"
)

// trust is the part of an [HostOptions] that makes connections differ.
type trust struct {
	certFile, keyFile, caFile string
	skip                      bool
}

// Transport returns the transport for connections with the certificates of a; the same one
// for the same files, which are read once. It sends no credentials. Proxies are those of
// the environment. ctx bounds the reading of certificates from a pipe. An error is a
// [*CertificateError].
func (c *Client) Transport(ctx context.Context, a HostOptions) (*http.Transport, error) {
	key := trust{certFile: a.CertFile, keyFile: a.KeyFile, caFile: a.CAFile, skip: a.SkipTLS}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, ok := c.transports[key]; ok {
		return t, nil
	}
	config, err := key.config(ctx)
	if err != nil {
		return nil, err
	}
	usual := c.patience.orUsual()
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   15 * time.Second,
		ResponseHeaderTimeout: 2 * usual.idle, // Get gives up before
		ForceAttemptHTTP2:     true,
		DisableCompression:    true, // content is verified as it is sent; who wants it packed asks for it
		MaxIdleConnsPerHost:   8,
		WriteBufferSize:       64 << 10,
		IdleConnTimeout:       90 * time.Second,
		// The library's own bound lets a header be 10 MiB, and a registry's challenges
		// are taken apart.
		MaxResponseHeaderBytes: 1 << 20,
	}
	if c.transports == nil {
		c.transports = map[trust]*http.Transport{}
	}
	c.transports[key] = t
	return t, nil
}

// maxCertificates is the largest file of certificates that is read, in bytes. That of a
// system has some hundred thousand.
const maxCertificates = 16 << 20

// config reads the files.
func (t trust) config(ctx context.Context) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.skip}
	if t.certFile != "" || t.keyFile != "" {
		if t.certFile == "" || t.keyFile == "" {
			return nil, &CertificateError{File: t.certFile + t.keyFile,
				Err: errors.New("a client certificate and its key belong together, and only one of them is given")}
		}
		pair, err := t.pair(ctx)
		if err != nil {
			return nil, &CertificateError{File: t.certFile, Err: err}
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if t.caFile != "" {
		pem, err := file.ReadInput(ctx, t.caFile, maxCertificates)
		if err != nil {
			return nil, &CertificateError{File: t.caFile, Err: err}
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, &CertificateError{File: t.caFile, Err: errors.New("it holds no certificate in PEM")}
		}
		config.RootCAs = pool
	}
	return config, nil
}

func (t trust) pair(ctx context.Context) (tls.Certificate, error) {
	certificate, err := file.ReadInput(ctx, t.certFile, maxCertificates)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := file.ReadInput(ctx, t.keyFile, maxCertificates)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certificate, key)
}

// A CertificateError is returned for a file that cannot be read as a certificate or key.
type CertificateError struct {
	File string
	Err  error
}

func (e *CertificateError) Error() string { return fmt.Sprintf("certificate %s: %v", e.File, e.Err) }

func (e *CertificateError) Unwrap() error { return e.Err }
