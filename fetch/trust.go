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

// trust is the part of [HostOptions] that determines the transport.
type trust struct {
	certFile, keyFile, caFile string
	skip                      bool
}

// Transport returns the transport for the certificates of a. It returns the same transport
// for the same files, which it reads once. The transport sends no credentials and uses the
// proxies of the environment. ctx limits reading certificates from a pipe. An error is a
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
	usual := c.timeouts.withDefaults()
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   15 * time.Second,
		ResponseHeaderTimeout: 2 * usual.idle, // Get stops earlier
		ForceAttemptHTTP2:     true,
		DisableCompression:    true, // content is verified as sent; callers ask for compression
		MaxIdleConnsPerHost:   8,
		WriteBufferSize:       64 << 10,
		IdleConnTimeout:       90 * time.Second,
		// The default allows a header of 10 MiB, and the challenges of registries are
		// parsed.
		MaxResponseHeaderBytes: 1 << 20,
	}
	if c.transports == nil {
		c.transports = map[trust]*http.Transport{}
	}
	c.transports[key] = t
	return t, nil
}

// maxCertificates is the largest size of a certificate file in bytes. The system's has a few
// hundred thousand.
const maxCertificates = 16 << 20

// config reads the files of t.
func (t trust) config(ctx context.Context) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.skip}
	if t.certFile != "" || t.keyFile != "" {
		if t.certFile == "" || t.keyFile == "" {
			return nil, &CertificateError{File: t.certFile + t.keyFile,
				Err: errors.New("a client certificate and its key belong together: only one of them is given")}
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
			return nil, &CertificateError{File: t.caFile, Err: errors.New("it contains no PEM certificate")}
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

// A CertificateError is returned for a file that is not a valid certificate or key.
type CertificateError struct {
	File string
	Err  error
}

func (e *CertificateError) Error() string { return fmt.Sprintf("certificate %s: %v", e.File, e.Err) }

func (e *CertificateError) Unwrap() error { return e.Err }
