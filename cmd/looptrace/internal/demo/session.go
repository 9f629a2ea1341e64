package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"unicode"
)

// session calls the API as a user.
type session struct {
	base   *url.URL
	client *http.Client
}

func open(base *url.URL) (*session, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, fmt.Errorf("keep the session: %w", err)
	}
	return &session{base, &http.Client{Jar: jar}}, nil
}

// ready returns an error if the installation does not answer or has no user yet.
func (s *session) ready(ctx context.Context) error {
	var setup struct{ Bootstrapped bool }
	if err := s.do(ctx, http.MethodGet, nil, &setup, "v1", "setup"); err != nil {
		return err
	}
	if !setup.Bootstrapped {
		return fmt.Errorf("there is no user yet: open %s, create the first one, and run looptrace demo again", s.base)
	}
	return nil
}

// load logs in, loads the samples, logs out, and returns the id of their project.
func (s *session) load(ctx context.Context, email, password, workspace string) (project string, err error) {
	var me struct {
		Organizations []struct {
			Name       string
			Workspaces []struct{ ID, Name, Role string }
		}
	}
	if err := s.do(ctx, http.MethodPost, map[string]string{"email": email, "password": password}, &me, "v1", "login"); err != nil {
		return "", err
	}
	defer func() {
		// Even if loading was interrupted.
		err = errors.Join(err, s.do(context.WithoutCancel(ctx), http.MethodPost, nil, nil, "v1", "logout"))
	}()
	if workspace == "" {
		var possible []string
		for _, organization := range me.Organizations {
			for _, w := range organization.Workspaces {
				if w.Role == "admin" || w.Role == "owner" {
					workspace = w.ID
					possible = append(possible, printable(fmt.Sprintf("  %s  %s · %s", w.ID, organization.Name, w.Name)))
				}
			}
		}
		switch len(possible) {
		case 0:
			return "", errors.New("you may not create projects: ask an admin or owner of a workspace to load the samples")
		case 1:
		default:
			return "", fmt.Errorf("you may create projects in %d workspaces: choose one with --workspace\n%s", len(possible), strings.Join(possible, "\n"))
		}
	}
	var created struct{ ID string }
	err = s.do(ctx, http.MethodPost, map[string]string{"workspace_id": workspace}, &created, "v1", "samples")
	return created.ID, err
}

// do sends a request with JSON, if there is a body, and reads the answer, if it is wanted.
func (s *session) do(ctx context.Context, method string, body, answer any, path ...string) error {
	var stream io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("write the request: %w", err)
		}
		stream = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.base.JoinPath(path...).String(), stream)
	if err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return fmt.Errorf("no Looptrace at %s: %w; start it with looptrace up, or give its address with LOOPTRACE_ENDPOINT", s.base, err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", s.base, err)
	}
	if response.StatusCode/100 != 2 {
		var refusal struct{ Title, Detail string }
		if json.Unmarshal(content, &refusal) != nil || refusal.Title == "" {
			return fmt.Errorf("%s does not answer as Looptrace does: %s", s.base, response.Status)
		}
		if refusal.Detail == "" {
			refusal.Detail = refusal.Title
		}
		return fmt.Errorf("%s (%s)", printable(refusal.Detail), response.Status)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return fmt.Errorf("%s does not answer as Looptrace does: %w", s.base, err)
	}
	return nil
}

// printable drops what could change the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
}
