package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/identity"
)

// The cookies, see [call.cookieName]: of the session, and of a browser that has logged in before.
const (
	sessionCookieName = "looptrace_session"
	deviceCookieName  = "looptrace_device"
)

// deviceLifetime is how long a browser is known after a login.
const deviceLifetime = 365 * 24 * time.Hour

// signedIn is the answer to requests that open a session. The generated answers have no more than one cookie.
type signedIn struct {
	status   int
	location string
	cookies  []*http.Cookie
	me       contract.Me
}

func newSignedIn(ctx context.Context, status int, session identity.Session, p *access.Principal) *signedIn {
	request := callOf(ctx)
	s := &signedIn{status: status, me: me(p), cookies: []*http.Cookie{request.cookie(sessionCookieName, session.Token, identity.SessionLifetime)}}
	if session.Device != "" {
		s.cookies = append(s.cookies, request.cookie(deviceCookieName, session.Device, deviceLifetime))
	}
	return s
}

// cookie returns a cookie for the client. Without a value it removes the one that the client has.
func (r *call) cookie(name, value string, lifetime time.Duration) *http.Cookie {
	maxAge := int(lifetime.Seconds())
	if value == "" {
		maxAge = -1
	}
	return &http.Cookie{ //nolint:gosec // Secure over HTTPS; over HTTP browsers would drop it
		Name: r.cookieName(name), Value: value, MaxAge: maxAge, Path: "/",
		Secure: r.https, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

func (s *signedIn) write(w http.ResponseWriter) error {
	body, err := json.Marshal(s.me)
	if err != nil {
		return fmt.Errorf("encode the caller: %w", err)
	}
	for _, cookie := range s.cookies {
		http.SetCookie(w, cookie)
	}
	w.Header().Set("Content-Type", typeJSON)
	if s.location != "" {
		w.Header().Set("Location", s.location)
	}
	w.WriteHeader(s.status)
	if _, err := w.Write(append(body, '\n')); err != nil {
		return fmt.Errorf("send the caller: %w", err)
	}
	return nil
}

// VisitLoginResponse answers a login.
func (s *signedIn) VisitLoginResponse(w http.ResponseWriter) error { return s.write(w) }

// VisitSetupResponse answers the setup.
func (s *signedIn) VisitSetupResponse(w http.ResponseWriter) error { return s.write(w) }

// VisitAcceptInvitationResponse answers the acceptance of an invitation.
func (s *signedIn) VisitAcceptInvitationResponse(w http.ResponseWriter) error { return s.write(w) }

// VisitUsePasswordResetResponse answers the use of a link to set a password.
func (s *signedIn) VisitUsePasswordResetResponse(w http.ResponseWriter) error { return s.write(w) }
