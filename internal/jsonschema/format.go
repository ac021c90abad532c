// SPDX-License-Identifier: Apache-2.0

package jsonschema

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// format is an asserted format.
type format struct {
	name  string
	valid func(string) error
}

// check returns an error if v is a string that does not have the format.
func (f *format) check(v any) error {
	text, ok := v.(string)
	if !ok {
		return nil
	}
	return f.valid(text)
}

// formatOf returns the format with a name, or nil if it is not asserted.
func formatOf(name string) *format {
	valid := map[string]func(string) error{
		"regex": validRegex, "date": validDate, "time": validTime, "date-time": validDateTime,
		"duration": validDuration, "period": validPeriod, "email": validEmail, "hostname": validHostname,
		"ipv4": validIPv4, "ipv6": validIPv6, "uri": validURI, "iri": validURI, "uri-reference": validReference,
		"iri-reference": validReference, "uri-template": validTemplate, "json-pointer": validPointer,
		"relative-json-pointer": validRelativePointer, "uuid": validUUID, "semver": validSemver,
	}[name]
	if valid == nil {
		return nil
	}
	return &format{name, valid}
}

func validRegex(s string) error {
	_, err := regexp.Compile(s)
	return err
}

func validDate(s string) error {
	_, err := time.Parse("2006-01-02", s)
	return err
}

// validTime checks a time of RFC 3339, with leap seconds.
func validTime(s string) error {
	if len(s) < len("15:04:05Z") {
		return errors.New("less than 9 characters long")
	}
	if s[2] != ':' || s[5] != ':' {
		return errors.New("missing colon in correct place")
	}
	h, m, sec, ok := threeNumbers(s[:2], s[3:5], s[6:8])
	switch {
	case !ok:
		return errors.New("invalid hour/min/sec")
	case h < 0 || m < 0 || sec < 0:
		return errors.New("non-positive hour/min/sec")
	case h > 23 || m > 59 || sec > 60:
		return errors.New("hour/min/sec out of range")
	}
	rest := s[8:]
	if rest[0] == '.' {
		digits := strings.TrimLeft(rest[1:], "0123456789")
		if len(digits) == len(rest)-1 {
			return errors.New("no digits in second fraction")
		}
		rest = digits
	}
	offset, err := minutesOf(rest)
	if err != nil {
		return err
	}
	const day = 24 * 60
	if utc := (h*60 + m - offset + 2*day) % day; sec == 60 && utc != day-1 {
		return errors.New("invalid leap second")
	}
	return nil
}

// minutesOf parses an offset from UTC.
func minutesOf(s string) (int, error) {
	if s == "Z" || s == "z" {
		return 0, nil
	}
	if len(s) != len("+07:00") {
		return 0, errors.New("offset must be 6 characters long")
	}
	sign := 1
	switch s[0] {
	case '+':
	case '-':
		sign = -1
	default:
		return 0, errors.New("offset must begin with plus/minus")
	}
	if s[3] != ':' {
		return 0, errors.New("missing colon in offset in correct place")
	}
	h, m, _, ok := threeNumbers(s[1:3], s[4:6], "0")
	switch {
	case !ok:
		return 0, errors.New("invalid hour/min in offset")
	case h < 0 || m < 0:
		return 0, errors.New("non-positive hour/min in offset")
	case h > 23 || m > 59:
		return 0, errors.New("hour/min in offset out of range")
	}
	return sign * (h*60 + m), nil
}

func threeNumbers(a, b, c string) (x, y, z int, ok bool) {
	for i, text := range []string{a, b, c} {
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, 0, 0, false
		}
		*[]*int{&x, &y, &z}[i] = n
	}
	return x, y, z, true
}

func validDateTime(s string) error {
	if len(s) < len("2006-01-02T15:04:05Z") {
		return errors.New("less than 20 characters long")
	}
	if s[10] != 't' && s[10] != 'T' {
		return errors.New("11th character must be t or T")
	}
	if err := validDate(s[:10]); err != nil {
		return fmt.Errorf("invalid date element: %w", err)
	}
	if err := validTime(s[11:]); err != nil {
		return fmt.Errorf("invalid time element: %w", err)
	}
	return nil
}

// validDuration checks a duration of RFC 3339, appendix A.
func validDuration(s string) error {
	rest, ok := strings.CutPrefix(s, "P")
	switch {
	case !ok:
		return errors.New("must start with P")
	case rest == "":
		return errors.New("nothing after P")
	}
	if weeks, ok := strings.CutSuffix(rest, "W"); ok {
		if weeks == "" {
			return errors.New("no number in week")
		}
		if strings.Trim(weeks, "0123456789") != "" {
			return errors.New("invalid week")
		}
		return nil
	}
	date, clock, timed := strings.Cut(rest, "T")
	if timed && strings.Trim(clock, "T") == "" {
		return errors.New("no time elements")
	}
	if strings.Contains(clock, "T") {
		return errors.New("more than one T")
	}
	if err := inOrder(date, "YMD"); err != nil {
		return err
	}
	return inOrder(clock, "HMS")
}

// inOrder checks numbers with units, which must be in order.
func inOrder(s, units string) error {
	left := units
	for s != "" {
		rest := strings.TrimLeft(s, "0123456789")
		switch {
		case len(rest) == len(s):
			return errors.New("missing number")
		case rest == "":
			return errors.New("missing unit")
		}
		unit := rest[:1]
		i := strings.Index(left, unit)
		switch {
		case !strings.Contains(units, unit):
			return fmt.Errorf("invalid unit %q", rune(rest[0]))
		case i < 0:
			return fmt.Errorf("unit '%s' out of order", unit)
		}
		left, s = left[i+1:], rest[1:]
	}
	return nil
}

func validPeriod(s string) error {
	start, end, ok := strings.Cut(s, "/")
	if !ok {
		return errors.New("missing slash")
	}
	if strings.HasPrefix(start, "P") {
		if err := validDuration(start); err != nil {
			return fmt.Errorf("invalid start duration: %w", err)
		}
	} else {
		if err := validDateTime(start); err != nil {
			return fmt.Errorf("invalid start date-time: %w", err)
		}
		if strings.HasPrefix(end, "P") {
			if err := validDuration(end); err != nil {
				return fmt.Errorf("invalid end duration: %w", err)
			}
			return nil
		}
	}
	if err := validDateTime(end); err != nil {
		return fmt.Errorf("invalid end date-time: %w", err)
	}
	return nil
}

func validEmail(s string) error {
	if len(s) > 255 {
		return errors.New("more than 255 characters long")
	}
	i := strings.LastIndexByte(s, '@')
	if i < 0 {
		return errors.New("missing @")
	}
	local, domain := s[:i], s[i+1:]
	if len(local) > 64 {
		return errors.New("local part more than 64 characters long")
	}
	if err := validLocal(local); err != nil {
		return err
	}
	if ip, ok := strings.CutPrefix(domain, "["); ok && strings.HasSuffix(ip, "]") {
		ip = ip[:len(ip)-1]
		if six, ok := strings.CutPrefix(ip, "IPv6:"); ok {
			if err := validIPv6(six); err != nil {
				return fmt.Errorf("invalid ipv6 address: %w", err)
			}
			return nil
		}
		if err := validIPv4(ip); err != nil {
			return fmt.Errorf("invalid ipv4 address: %w", err)
		}
		return nil
	}
	if err := validHostname(domain); err != nil {
		return fmt.Errorf("invalid domain: %w", err)
	}
	return nil
}

// validLocal checks the local part of an email address.
func validLocal(s string) error {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		if strings.ContainsAny(s[1:len(s)-1], `\"`) {
			return errors.New("backslash and quote are not allowed within quoted local part")
		}
		return nil
	}
	switch {
	case strings.HasPrefix(s, "."):
		return errors.New("starts with dot")
	case strings.HasSuffix(s, "."):
		return errors.New("ends with dot")
	case strings.Contains(s, ".."):
		return errors.New("consecutive dots")
	}
	for _, r := range s {
		if !alphanumeric(r) && !strings.ContainsRune(".!#$%&'*+-/=?^_`{|}~", r) {
			return fmt.Errorf("invalid character %q", r)
		}
	}
	return nil
}

func alphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func validHostname(s string) error {
	s = strings.TrimSuffix(s, ".")
	if len(s) > 253 {
		return errors.New("more than 253 characters long")
	}
	for label := range strings.SplitSeq(s, ".") {
		switch {
		case label == "" || len(label) > 63:
			return errors.New("label must be 1 to 63 characters long")
		case label[0] == '-':
			return errors.New("label starts with hyphen")
		case label[len(label)-1] == '-':
			return errors.New("label ends with hyphen")
		}
		for _, r := range label {
			if !alphanumeric(r) && r != '-' {
				return fmt.Errorf("invalid character %q", r)
			}
		}
	}
	return nil
}

func validIPv4(s string) error {
	parts := strings.Split(s, ".")
	if len(parts) != 4 {
		return errors.New("expected four decimals")
	}
	for _, part := range parts {
		if len(part) > 1 && part[0] == '0' {
			return errors.New("leading zeros")
		}
		n, err := strconv.Atoi(part)
		if err != nil {
			return err
		}
		if n < 0 || n > 255 {
			return errors.New("decimal must be between 0 and 255")
		}
	}
	return nil
}

func validIPv6(s string) error {
	if !strings.Contains(s, ":") {
		return errors.New("missing colon")
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return err
	}
	if addr.Zone() != "" {
		return errors.New("zone id is not a part of ipv6 address")
	}
	return nil
}

// validURI checks a URI or an IRI: net/url accepts both.
func validURI(s string) error {
	u, err := url.Parse(s)
	if err != nil {
		return err
	}
	if !u.IsAbs() {
		return errors.New("relative url")
	}
	return nil
}

func validReference(s string) error {
	if _, err := url.Parse(s); err != nil {
		return err
	}
	if strings.Contains(s, `\`) {
		return errors.New(`contains \`)
	}
	return nil
}

func validTemplate(s string) error {
	u, err := url.Parse(s)
	if err != nil {
		return err
	}
	path := u.RawPath
	if path == "" {
		path = u.EscapedPath()
	}
	for segment := range strings.SplitSeq(path, "/") {
		if err := balanced(segment); err != nil {
			return err
		}
	}
	return nil
}

// balanced checks the braces of a path segment.
func balanced(s string) error {
	open := false
	for _, r := range s {
		switch {
		case r == '{' && open || r == '}' && !open:
			return errors.New("nested curly braces")
		case r == '{' || r == '}':
			open = !open
		}
	}
	if open {
		return errors.New("no matching closing brace")
	}
	return nil
}

func validPointer(s string) error {
	if s == "" {
		return nil
	}
	if s[0] != '/' {
		return errors.New("not starting with /")
	}
	for i := range len(s) {
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			return errors.New("~ must be followed by 0 or 1")
		}
	}
	return nil
}

func validRelativePointer(s string) error {
	rest := strings.TrimLeft(s, "0123456789")
	digits := len(s) - len(rest)
	switch {
	case digits == 0:
		return errors.New("must start with non-negative integer")
	case digits > 1 && s[0] == '0':
		return errors.New("starts with zero")
	case rest == "#":
		return nil
	}
	return validPointer(rest)
}

func validUUID(s string) error {
	sizes := []int{8, 4, 4, 4, 12}
	parts := strings.Split(s, "-")
	if len(parts) != len(sizes) {
		return errors.New("must have 5 elements")
	}
	for i, part := range parts {
		if len(part) != sizes[i] {
			return fmt.Errorf("element %d must be %d characters long", i+1, sizes[i])
		}
		for _, r := range part {
			if !strings.ContainsRune("0123456789abcdefABCDEF", r) {
				return fmt.Errorf("non-hex character %q", r)
			}
		}
	}
	return nil
}

func validSemver(s string) error {
	core, build, hasBuild := strings.Cut(s, "+")
	core, pre, hasPre := strings.Cut(core, "-")
	if hasBuild && build == "" {
		return errors.New("build is empty")
	}
	if hasBuild {
		if err := validIdentifiers("build", build, false); err != nil {
			return err
		}
	}
	if hasPre {
		if err := validIdentifiers("pre-release", pre, true); err != nil {
			return err
		}
	}
	parts := strings.Split(core, ".")
	if len(parts) != 3 {
		return errors.New("versionCore must have 3 numbers separated by dot")
	}
	for i, name := range []string{"major", "minor", "patch"} {
		switch part := parts[i]; {
		case part == "":
			return fmt.Errorf("%s is empty", name)
		case strings.Trim(part, "0123456789") != "":
			return fmt.Errorf("%s contains non-digit", name)
		case len(part) > 1 && part[0] == '0':
			return fmt.Errorf("%s starts with zero", name)
		}
	}
	return nil
}

// validIdentifiers checks a pre-release or build metadata.
func validIdentifiers(kind, s string, numbers bool) error {
	for part := range strings.SplitSeq(s, ".") {
		if part == "" {
			return fmt.Errorf("%s identifier is empty", kind)
		}
		for _, r := range part {
			if !alphanumeric(r) && r != '-' {
				return fmt.Errorf("invalid character %q in %s identifier", r, kind)
			}
		}
		if numbers && len(part) > 1 && part[0] == '0' && strings.Trim(part, "0123456789") == "" {
			return fmt.Errorf("%s numeric identifier starts with zero", kind)
		}
	}
	return nil
}
