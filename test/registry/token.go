// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	service    = "registry of a test"
	issuerName = "token server of a test"
)

// issuer is a token server. It gives clients that know the password a token for the requested
// access, and other clients one without access.
type issuer struct {
	user, password string
	bundle         string // the file of the certificate that verifies tokens
	signer         jose.Signer
}

func newIssuer(dir, user, password string) (*issuer, error) {
	bundle := filepath.Join(dir, "tokens.pem")
	certificate, err := authority(bundle)
	if err != nil {
		return nil, err
	}
	key := certificate.PrivateKey.(*ecdsa.PrivateKey)
	chain := []string{base64.StdEncoding.EncodeToString(certificate.Certificate[0])}
	options := (&jose.SignerOptions{}).WithType("JWT").WithHeader("x5c", chain)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, options)
	return &issuer{user: user, password: password, bundle: bundle, signer: signer}, err
}

// access is the access that a token permits.
type access struct {
	Type    string   `json:"type"`
	Name    string   `json:"name"`
	Actions []string `json:"actions"`
}

// ServeHTTP implements https://distribution.github.io/distribution/spec/auth/token/.
func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, given := r.BasicAuth()
	if r.Method != http.MethodGet { // OAuth 2 is for clients with a refresh token
		http.Error(w, "not supported", http.StatusNotFound)
		return
	}
	if given && (user != i.user || password != i.password) {
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"incorrect username or password"}]}`, http.StatusUnauthorized)
		return
	}
	granted := []access{}
	for _, list := range r.URL.Query()["scope"] {
		for _, scope := range strings.Fields(list) {
			if parts := strings.SplitN(scope, ":", 3); given && len(parts) == 3 {
				granted = append(granted, access{Type: parts[0], Name: parts[1], Actions: strings.Split(parts[2], ",")})
			}
		}
	}
	now := time.Now()
	token, err := jwt.Signed(i.signer).Claims(jwt.Claims{
		Issuer: issuerName, Subject: user, Audience: jwt.Audience{service}, Expiry: jwt.NewNumericDate(now.Add(time.Hour)),
		NotBefore: jwt.NewNumericDate(now.Add(-time.Minute)), IssuedAt: jwt.NewNumericDate(now),
	}).Claims(map[string]any{"access": granted}).Serialize()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	// If writing fails, the client reports an incomplete response.
	_ = json.NewEncoder(w).Encode(map[string]any{"token": token, "expires_in": 3600})
}
