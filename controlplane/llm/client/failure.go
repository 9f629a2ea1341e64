package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/wire"
	"github.com/looptrace/looptrace/controlplane/outbound"
)

// minSecret is the length from which the value of a header is taken for a secret. Shorter ones would blot out texts.
const minSecret = 6

// callbackError is an error of the caller's callback.
type callbackError struct{ error }

func (e *callbackError) Unwrap() error { return e.error }

// failure returns the error for a call that failed. The partial result has what was received before.
func (x *exchange) failure(c *call, err error) *llm.Error {
	if err == nil {
		return nil
	}
	e := x.classify(c, err)
	e.Message = llm.Shorten(x.client.scrubText(e.Message))
	if x.response != nil {
		e.Status = x.response.StatusCode
		e.RequestID = requestID(x.response.Header)
		e.RateLimit = rateLimit(x.response.Header)
		if e.Retryable {
			e.RetryAfter = retryAfter(x.response.Header, time.Now())
		}
	}
	if c.body != nil && (x.sent.Load() || x.response != nil) {
		e.Partial = x.result(c)
	}
	return e
}

func (x *exchange) classify(c *call, err error) *llm.Error {
	var callback *callbackError
	var reported *wire.ReportedError
	var garbage *llm.GarbageError
	cause := context.Cause(x.ctx)
	switch {
	case errors.As(err, &callback):
		return &llm.Error{Kind: llm.Cancelled, Message: "The call was ended: " + callback.Error(), Cause: callback.error}
	case errors.As(err, &reported):
		return refused(c, x.response, reported.Body)
	case errors.As(err, &garbage):
		return &llm.Error{Kind: llm.Garbage, Message: "The response is not what the API describes: " + garbage.What + "." + wire.Page(x.body.seen.Bytes()), Suggestion: checkAddress, Parameter: "base_url"}
	case errors.Is(x.parent.Err(), context.Canceled):
		return &llm.Error{Kind: llm.Cancelled, Message: "The call was cancelled.", Cause: context.Canceled}
	case x.parent.Err() != nil:
		return &llm.Error{Kind: llm.Timeout, Message: "The provider did not answer before the deadline of the call.", Retryable: true, Cause: x.parent.Err()}
	case errors.Is(cause, errIdle):
		return &llm.Error{Kind: llm.Timeout, Message: fmt.Sprintf("The provider sent nothing for %s.", x.client.conn.IdleTimeout), Retryable: true, Cause: context.DeadlineExceeded}
	case errors.Is(cause, errLong):
		return &llm.Error{Kind: llm.Timeout, Message: fmt.Sprintf("The answer was not complete after %s.", x.client.timeout(c.stream)), Cause: context.DeadlineExceeded}
	case x.response == nil:
		return unreachable(err)
	case x.response.StatusCode >= http.StatusBadRequest:
		_, _ = io.Copy(io.Discard, x.response.Body) // what came of it is what the provider said
		return refused(c, x.response, x.body.seen.Bytes())
	case x.response.StatusCode >= http.StatusMultipleChoices:
		return redirected(x.response)
	case errors.Is(err, errTooLarge), errors.Is(err, errLine):
		return &llm.Error{Kind: llm.Garbage, Message: "The response was not read to its end: " + err.Error() + ".", Cause: err}
	}
	return &llm.Error{Kind: llm.BrokenStream, Message: "The response ended before it was complete: " + inner(err).Error() + ".", Retryable: true, Cause: err}
}

const checkAddress = "Check the base URL."

// unreachable is the error for a request without a response.
func unreachable(err error) *llm.Error {
	var refused *outbound.AddressError
	if errors.As(err, &refused) {
		return &llm.Error{Kind: llm.AddressNotAllowed, Parameter: "base_url", Message: refused.Error(), Cause: err}
	}
	e := &llm.Error{Kind: llm.Unreachable, Parameter: "base_url", Message: "The provider cannot be reached: " + inner(err).Error() + ".", Retryable: true, Cause: err}
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var header tls.RecordHeaderError
	var network net.Error
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		e.Retryable, e.Suggestion = false, "The name does not exist. "+checkAddress
	case errors.As(err, &certificate), errors.As(err, &authority):
		e.Retryable, e.Suggestion = false, "The certificate of the server is not valid for this name, or its authority is not known to this machine."
	case errors.As(err, &header), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		e.Retryable, e.Suggestion = false, "The server does not speak TLS. If that is right, write http:// in the base URL."
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the server has closed the connection
	case !errors.As(inner(err), &network): // the host is in no usual form
		e.Retryable, e.Suggestion = false, checkAddress
	}
	return e
}

// inner is an error of a connection without the address of the request.
func inner(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}

// redirected is the error for a redirect. Its target is told without the query, which may have secrets.
func redirected(response *http.Response) *llm.Error {
	e := &llm.Error{Kind: llm.Garbage, Parameter: "base_url", Message: "The address redirects to another one, which is not followed."}
	if target, err := response.Location(); err == nil {
		e.Message = fmt.Sprintf("The address redirects to %s://%s%s, which is not followed.", target.Scheme, target.Host, target.Path)
		e.Suggestion = "Put the address of the API itself into the base URL."
	}
	return e
}

// retryAfter reads how long to wait: milliseconds, seconds, or a date by the provider's own clock.
func retryAfter(header http.Header, now time.Time) *time.Duration {
	for _, h := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		value := strings.TrimSpace(header.Get(h.name))
		if value == "" {
			continue
		}
		if count, err := strconv.ParseFloat(value, 64); err == nil && count >= 0 {
			const longest = 365 * 24 * time.Hour
			wait := longest
			if count < float64(longest)/float64(h.unit) {
				wait = time.Duration(count * float64(h.unit))
			}
			return &wait
		}
		if date, err := http.ParseTime(value); err == nil {
			if theirs, err := http.ParseTime(header.Get("Date")); err == nil {
				now = theirs
			}
			wait := max(date.Sub(now), 0)
			return &wait
		}
	}
	return nil
}

// secrets are what no error and no record may have.
func (c *Client) secrets() []string {
	var secrets []string
	if c.conn.APIKey != "" {
		secrets = append(secrets, c.conn.APIKey)
	}
	for _, value := range c.conn.Headers {
		if len(value) >= minSecret {
			secrets = append(secrets, value)
			if _, credential, found := strings.Cut(value, " "); found && len(credential) >= minSecret {
				secrets = append(secrets, credential) // Bearer …
			}
		}
	}
	return secrets
}

const blotted = "***"

// maskedKey is a key that a provider repeats in part, as in sk-abcd****wxyz.
var maskedKey = regexp.MustCompile(`[^\s"'` + "`" + `]*\*{3,}[^\s"'` + "`" + `.,]*`)

func (c *Client) scrubText(s string) string {
	for _, secret := range c.secrets() {
		s = strings.ReplaceAll(s, secret, blotted)
	}
	return maskedKey.ReplaceAllString(s, blotted)
}

// scrub removes secrets from a body that a provider sent.
func (c *Client) scrub(body []byte) []byte {
	for _, secret := range c.secrets() {
		if bytes.Contains(body, []byte(secret)) {
			body = bytes.ReplaceAll(body, []byte(secret), []byte(blotted))
		}
	}
	return body
}
