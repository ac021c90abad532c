// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// secret is a credential: a user's password, an identity token that replaces both, or a
// bearer token.
type secret struct{ user, password, identity, token string }

// secretOf returns the credential for a user's password, or for an identity token if user is "".
func secretOf(user, password string) secret {
	if user == "" {
		return secret{identity: password}
	}
	return secret{user: user, password: password}
}

// name returns the name of the credential in error messages.
func (s secret) name() string {
	switch {
	case s.user != "":
		return s.user
	case s != secret{}:
		return "the stored token"
	}
	return ""
}

func (s secret) basic() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(s.user+":"+s.password))
}

// authorization returns the Authorization header for reading or writing, or "" if there is
// none yet.
func (p *place) authorization(write bool) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if write {
		return p.writing
	}
	return p.reading
}

// authorize responds to a registry's challenge and reports whether there is a new Authorization
// header. sent is the header that the registry rejected; write asks for write access.
func (c *call) authorize(ctx context.Context, header []string, sent string, write bool) (bool, error) {
	// Of several concurrent requests, the first fetches the token.
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if current := c.authorization(write); current != sent {
		return true, nil
	}
	cred, credErr := c.secret(ctx)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	c.mu.Lock()
	c.user, c.trouble = cred.name(), credErr
	c.mu.Unlock()
	authorization, err := c.authorizationFor(ctx, parseChallenges(header), cred, write)
	if err != nil || authorization == "" || authorization == sent {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reading = authorization; write || strings.HasPrefix(authorization, "Basic ") {
		c.writing = authorization // write access includes read access
	}
	return true, nil
}

// authorizationFor returns the Authorization header for one of the challenges, or "" if there is
// none.
func (c *call) authorizationFor(ctx context.Context, challenges []challenge, cred secret, write bool) (string, error) {
	for _, ch := range challenges {
		if ch.scheme == "bearer" && ch.params["realm"] != "" {
			if cred.token != "" {
				return "Bearer " + cred.token, nil
			}
			token, err := c.token(ctx, ch, cred, write)
			if err != nil {
				return "", err
			}
			return "Bearer " + token, nil
		}
	}
	for _, ch := range challenges {
		if ch.scheme == "basic" && cred.user != "" {
			return cred.basic(), nil
		}
	}
	return "", nil
}

// maxTokenResponse is the largest response of a token server that is read, in bytes.
const maxTokenResponse = 1 << 20

// token requests a token from the registry's token server, see
// https://distribution.github.io/distribution/spec/auth/. It does not send credentials without
// encryption: a realm that is an http URL is a [*TokenServerError], except on the host of a
// registry that is itself used without encryption.
func (c *call) token(ctx context.Context, ch challenge, cred secret, write bool) (string, error) {
	realm, err := url.Parse(ch.params["realm"])
	if err != nil || realm.Hostname() == "" || realm.Scheme != "https" && realm.Scheme != "http" {
		return "", &ContentError{Ref: c.ref.errorName(), Problem: "the registry names a malformed token server"}
	}
	if realm.Scheme == "http" && (!c.plain || !strings.EqualFold(realm.Hostname(), c.base().Hostname())) {
		return "", &TokenServerError{Host: c.ref.Host, Other: realm.Host}
	}
	realm.User = nil
	form := url.Values{}
	if s := ch.params["service"]; s != "" {
		form.Set("service", s)
	}
	for _, s := range c.scopes(ch.params["scope"], write) {
		form.Add("scope", s)
	}
	req := &http.Request{Method: http.MethodGet, URL: realm, Header: http.Header{"User-Agent": {c.agent}}}
	if cred.identity != "" {
		form.Set("grant_type", "refresh_token")
		form.Set("client_id", "moonhelm")
		form.Set("refresh_token", cred.identity)
		req.Method = http.MethodPost
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(form.Encode())), int64(len(form.Encode()))
	} else {
		query := realm.Query()
		for name, values := range form {
			query[name] = values
		}
		realm.RawQuery = query.Encode()
		if cred.user != "" {
			req.Header.Set("Authorization", cred.basic())
		}
	}
	return c.askToken(req.WithContext(ctx))
}

// askToken sends a token request and returns the token.
func (c *call) askToken(req *http.Request) (string, error) {
	resp, err := c.http.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return "", c.responseError(resp, err)
	}
	defer resp.Body.Close()
	var response struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxTokenResponse))
	if err == nil {
		err = json.Unmarshal(data, &response)
	}
	if response.Token == "" {
		response.Token = response.AccessToken
	}
	// An unprintable token would be included in an error of net/http.
	if err != nil || response.Token == "" ||
		strings.ContainsFunc(response.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", &ContentError{Ref: c.ref.errorName(),
			Problem: fmt.Sprintf("the registry's token server %s sent no valid token", req.URL.Host)}
	}
	return response.Token, nil
}

// scopes returns the scopes to request: the chart's and those of the challenge, or only the
// latter for a login or a reference without a path. A scope of the challenge for the same
// chart is omitted, because some token servers accept only one.
func (c *call) scopes(challenged string, write bool) []string {
	if c.ref.Path == "" || c.login {
		return strings.Fields(challenged)
	}
	actions := ":pull"
	if write {
		actions = ":pull,push"
	}
	repository := "repository:" + c.ref.Path
	out := []string{repository + actions}
	for _, s := range strings.Fields(challenged) {
		if !strings.HasPrefix(s, repository+":") {
			out = append(out, s)
		}
	}
	return out
}

// secret returns the credentials for the registry. If stored ones cannot be read, it
// returns none and an error; the request may succeed without credentials.
func (p *place) secret(ctx context.Context) (secret, error) {
	switch {
	case p.given != secret{}:
		return p.given, nil
	case p.stored != nil:
		return p.stored.find(ctx, p.ref)
	}
	return secret{}, nil
}

// challenge is an authentication challenge of a server.
type challenge struct {
	scheme string // in lower case
	params map[string]string
}

// parseChallenges parses WWW-Authenticate headers according to RFC 9110. It ignores the rest
// of a header that is malformed.
func parseChallenges(header []string) []challenge {
	var out []challenge
	for _, text := range header {
		for {
			text = strings.TrimLeft(text, " \t,")
			word := leading(text)
			if word == "" {
				break
			}
			rest := strings.TrimLeft(text[len(word):], " \t")
			if !strings.HasPrefix(rest, "=") {
				out = append(out, challenge{scheme: strings.ToLower(word), params: map[string]string{}})
				text = rest
				continue
			}
			value, after, err := paramValue(strings.TrimLeft(rest[1:], " \t"))
			if err != nil || len(out) == 0 {
				break
			}
			out[len(out)-1].params[strings.ToLower(word)] = value
			text = after
		}
	}
	return out
}

// leading returns the token, as RFC 9110 defines it, at the start of text.
func leading(text string) string {
	return text[:len(text)-len(strings.TrimLeftFunc(text, func(r rune) bool {
		return r > ' ' && r < 0x7f && !strings.ContainsRune(`",=()<>@;:\[]?{}`, r)
	}))]
}

var errQuote = errors.New("a quote is not closed")

// paramValue returns the value at the start of text and the rest of text.
func paramValue(text string) (value, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text+",", ", \t")
		return text[:end], text[end:], nil
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '"':
			return b.String(), text[i+1:], nil
		case text[i] == '\\' && i+1 < len(text):
			i++
		}
		b.WriteByte(text[i])
	}
	return "", "", errQuote
}

// A TokenServerError is returned when the realm in a registry's challenge is an http URL. No
// credentials were sent.
type TokenServerError struct{ Host, Other string }

func (e *TokenServerError) Error() string {
	return fmt.Sprintf("%s uses the token server %s without encryption: no credentials were sent", e.Host, e.Other)
}
