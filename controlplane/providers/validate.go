package providers

import (
	"context"
	"errors"
	"fmt"
	"net/textproto"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/outbound"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/problem"
)

// defaultBaseURLs are the providers' own addresses.
var defaultBaseURLs = map[llm.Kind]string{llm.OpenAI: "https://api.openai.com/v1", llm.Anthropic: "https://api.anthropic.com"}

// ownHeaders are headers that the client sets.
var ownHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host", "Keep-Alive", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// apply changes a connection and its secrets, or returns an error for each invalid field.
func (s *Service) apply(ctx context.Context, p *Provider, secret *secrets, c Change) error {
	var errs []error
	if c.Name != nil {
		name, err := validate.Name("body.name", *c.Name)
		p.Name = name
		errs = append(errs, err)
	}
	moved, err := s.move(ctx, p, c.BaseURL)
	errs = append(errs, err)
	if moved && p.KeyHint != nil && c.APIKey == nil {
		errs = append(errs, problem.InvalidField("body.api_key", "must be given with another base_url: the stored key is for the address before; null removes it"))
	}
	if moved && len(p.HeaderNames) > 0 && c.Headers == nil {
		errs = append(errs, problem.InvalidField("body.headers", "must be given with another base_url: the stored ones are for the address before; {} removes them"))
	}
	if c.APIKey != nil {
		secret.APIKey, p.KeyHint = "", nil
		if key := *c.APIKey; key != nil && *key != "" {
			secret.APIKey, p.KeyHint = strings.TrimSpace(*key), hint(strings.TrimSpace(*key))
			if !httpguts.ValidHeaderFieldValue(secret.APIKey) || strings.ContainsAny(secret.APIKey, " \t") {
				errs = append(errs, problem.InvalidField("body.api_key", "must have no spaces and no control characters; copy it again"))
			}
		}
	}
	if c.Headers != nil {
		errs = append(errs, validHeaders(c.Headers))
		secret.Headers, p.HeaderNames = c.Headers, sortedNames(c.Headers)
	}
	if c.MaxConcurrency != nil {
		p.MaxConcurrency = *c.MaxConcurrency
	}
	if c.RequestsPerMinute != nil {
		p.RequestsPerMinute = *c.RequestsPerMinute
	}
	if c.MonthlyBudget != nil {
		p.MonthlyBudget = *c.MonthlyBudget
	}
	if c.AllowUnpriced != nil {
		p.AllowUnpriced = *c.AllowUnpriced
	}
	return errors.Join(errs...)
}

// move sets the address, and returns whether it changed.
func (s *Service) move(ctx context.Context, p *Provider, to *string) (bool, error) {
	if to == nil {
		if p.BaseURL == "" {
			p.BaseURL = defaultBaseURLs[p.Kind]
		}
		return false, nil
	}
	address, err := baseURL(*to, p.Kind)
	if err != nil {
		return false, err
	}
	if address == p.BaseURL {
		return false, nil
	}
	moved := p.BaseURL != ""
	p.BaseURL = address
	return moved, s.allowed(ctx, address)
}

// baseURL normalizes an address. Empty text is the provider's own.
func baseURL(text string, kind llm.Kind) (string, error) {
	const location = "body.base_url"
	text = strings.TrimRight(strings.TrimSpace(text), "/")
	if text == "" {
		return defaultBaseURLs[kind], nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return "", problem.InvalidField(location, "must be an address such as https://api.openai.com/v1 or http://127.0.0.1:8000/v1")
	case u.User != nil:
		return "", problem.InvalidField(location, "must not have a user name or a password; use api_key or headers")
	case strings.ContainsAny(text, "?#"):
		return "", problem.InvalidField(location, "must not have a query or a fragment")
	}
	for _, suffix := range []string{"/chat/completions", "/messages"} {
		if strings.HasSuffix(u.Path, suffix) {
			return "", problem.InvalidField(location, fmt.Sprintf("must end before %s, which is added to it", suffix))
		}
	}
	return u.String(), nil
}

// allowed returns an error if the address is known to be one that the configuration does not allow. A name that does not resolve
// now is checked when it is called.
func (s *Service) allowed(ctx context.Context, address string) error {
	var refused *outbound.AddressError
	if err := s.policy.Check(ctx, address); errors.As(err, &refused) {
		return &problem.Error{
			Kind: problem.Invalid, Code: "address_not_allowed", Detail: refused.Error(),
			Fields: []problem.Field{{Location: "body.base_url", Message: refused.Error()}},
		}
	}
	return nil
}

func hint(key string) *string {
	end := "…"
	if len(key) >= hintFrom {
		end = key[len(key)-hintLength:]
	}
	return &end
}

func validHeaders(headers map[string]string) error {
	var errs []error
	seen := map[string]bool{}
	for _, name := range sortedNames(headers) {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		location := "body.headers." + name
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			errs = append(errs, problem.InvalidField(location, "is no name of a header"))
		case seen[canonical]:
			errs = append(errs, problem.InvalidField(location, "is there twice"))
		case containsFold(ownHeaders, canonical):
			errs = append(errs, problem.InvalidField(location, "is a header that is set for each request"))
		case !httpguts.ValidHeaderFieldValue(headers[name]):
			errs = append(errs, problem.InvalidField(location, "must have no control characters"))
		}
		seen[canonical] = true
	}
	return errors.Join(errs...)
}

func containsFold(list []string, name string) bool {
	for _, one := range list {
		if strings.EqualFold(one, name) {
			return true
		}
	}
	return false
}
