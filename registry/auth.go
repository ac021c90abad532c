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

// secret is a credential: a user's password, an identity token that stands for
// both, or a token that is used as it is.
type secret struct{ user, password, identity, token string }

// secretOf is a user's password, or without a user an identity token.
func secretOf(user, password string) secret {
	if user == "" {
		return secret{identity: password}
	}
	return secret{user: user, password: password}
}

// name is how a secret is told.
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

// authorization is what is sent with a request for reading or writing, "" for
// nothing yet.
func (p *place) authorization(write bool) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if write {
		return p.writing
	}
	return p.reading
}

// authorize does what a registry's challenge asks for, and reports whether there is
// something new to send. sent is what it did not accept.
func (c *call) authorize(ctx context.Context, header []string, sent string, write bool) (bool, error) {
	// One at a time: of several requests at once, the first fetches the token.
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if now := c.authorization(write); now != sent {
		return true, nil
	}
	who, trouble := c.secret(ctx)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	c.mu.Lock()
	c.user, c.trouble = who.name(), trouble
	c.mu.Unlock()
	answer, err := c.answer(ctx, parseChallenges(header), who, write)
	if err != nil || answer == "" || answer == sent {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reading = answer; write || strings.HasPrefix(answer, "Basic ") {
		c.writing = answer // who may write may read
	}
	return true, nil
}

// answer is what to send for one of the challenges, "" where nothing can be.
func (c *call) answer(ctx context.Context, challenges []challenge, who secret, write bool) (string, error) {
	for _, ch := range challenges {
		if ch.scheme == "bearer" && ch.params["realm"] != "" {
			if who.token != "" {
				return "Bearer " + who.token, nil
			}
			token, err := c.token(ctx, ch, who, write)
			if err != nil {
				return "", err
			}
			return "Bearer " + token, nil
		}
	}
	for _, ch := range challenges {
		if ch.scheme == "basic" && who.user != "" {
			return who.basic(), nil
		}
	}
	return "", nil
}

// maxToken is the largest answer of a token server that is read, in bytes.
const maxToken = 1 << 20

// token asks the token server that the registry names. The protocol is that of
// https://distribution.github.io/distribution/spec/auth/.
func (c *call) token(ctx context.Context, ch challenge, who secret, write bool) (string, error) {
	realm, err := url.Parse(ch.params["realm"])
	if err != nil || realm.Hostname() == "" || realm.Scheme != "https" && realm.Scheme != "http" {
		return "", &ContentError{Ref: c.ref.told(), Problem: "the registry names a malformed token server"}
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
	if who.identity != "" {
		form.Set("grant_type", "refresh_token")
		form.Set("client_id", "moonhelm")
		form.Set("refresh_token", who.identity)
		req.Method = http.MethodPost
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(form.Encode())), int64(len(form.Encode()))
	} else {
		query := realm.Query()
		for name, values := range form {
			query[name] = values
		}
		realm.RawQuery = query.Encode()
		if who.user != "" {
			req.Header.Set("Authorization", who.basic())
		}
	}
	return c.askToken(req.WithContext(ctx))
}

func (c *call) askToken(req *http.Request) (string, error) {
	resp, err := c.http.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return "", c.refused(resp, err)
	}
	defer resp.Body.Close()
	var answer struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxToken))
	if err == nil {
		err = json.Unmarshal(data, &answer)
	}
	if answer.Token == "" {
		answer.Token = answer.AccessToken
	}
	// What is not printable would be an error with the token in its text.
	if err != nil || answer.Token == "" ||
		strings.ContainsFunc(answer.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", &ContentError{Ref: c.ref.told(),
			Problem: fmt.Sprintf("the registry's token server %s gives no token", req.URL.Host)}
	}
	return answer.Token, nil
}

// scopes are the permissions to ask for: ours, and what else the registry says. Where
// that is about the same chart it is in ours, because some token servers take one
// scope only.
func (c *call) scopes(challenged string, write bool) []string {
	if c.ref.Path == "" || c.login {
		return strings.Fields(challenged)
	}
	actions := ":pull"
	if write {
		actions = ":pull,push"
	}
	ours := "repository:" + c.ref.Path
	out := []string{ours + actions}
	for _, s := range strings.Fields(challenged) {
		if !strings.HasPrefix(s, ours+":") {
			out = append(out, s)
		}
	}
	return out
}

// secret is who we are to the place. What cannot be read of stored credentials
// makes us no one, which may do; if not, the error tells.
func (p *place) secret(ctx context.Context) (secret, error) {
	switch {
	case p.given != secret{}:
		return p.given, nil
	case p.stored != nil:
		return p.stored.find(ctx, p.ref)
	}
	return secret{}, nil
}

// challenge is one way in which a server wants to be told who asks.
type challenge struct {
	scheme string // in small letters
	params map[string]string
}

// parseChallenges reads WWW-Authenticate headers, as RFC 9110 has them. What is
// malformed ends the header.
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

// leading is the token that text begins with.
func leading(text string) string {
	return text[:len(text)-len(strings.TrimLeftFunc(text, func(r rune) bool {
		return r > ' ' && r < 0x7f && !strings.ContainsRune(`",=()<>@;:\[]?{}`, r)
	}))]
}

var errQuote = errors.New("a quote is not closed")

// paramValue is the value that text begins with, and what follows it.
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

// A TokenServerError is returned when a registry names a token server to be reached without
// encryption. No credentials were sent.
type TokenServerError struct{ Host, Other string }

func (e *TokenServerError) Error() string {
	return fmt.Sprintf("%s has its users known by %s, and that without encryption: nothing was sent there", e.Host,
		e.Other)
}
