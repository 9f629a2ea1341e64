package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// authenticate resolves the caller.
func (a *api) authenticate(c *gin.Context) {
	request := callOf(c.Request.Context())
	credential := credentialOf(c.Request, request.session)
	credential.Address = request.client.Address
	principal, err := a.identity.Resolve(c.Request.Context(), credential)
	if err != nil {
		a.fail(c, err)
		return
	}
	request.principal = principal
	request.grantFor = func(ctx context.Context, operation string, target access.Target) (access.Grant, error) {
		principal, err := a.identity.Resolve(ctx, credential)
		if err != nil {
			return access.Grant{}, err
		}
		return a.policy.Authorize(principal, operation, target)
	}
	request.recheck = func(ctx context.Context, target access.Target) error {
		_, err := request.grantFor(ctx, request.operation.id, target)
		if errors.Is(err, postgres.ErrUnavailable) {
			return nil // nothing can be revoked while PostgreSQL is down
		}
		return err
	}
	c.Next()
}

// authorize checks that the caller may do the operation, before any handler runs.
func (a *api) authorize(c *gin.Context) {
	request := callOf(c.Request.Context())
	target, err := targetOf(c, request.operation)
	if err == nil {
		request.grant, err = a.policy.Authorize(request.principal, request.operation.id, target)
	}
	if err != nil {
		a.fail(c, err)
		return
	}
	c.Next()
}

// caller passes the caller to the tools of the MCP server, which are authorized one by one.
func (a *api) caller(c *gin.Context) {
	request := callOf(c.Request.Context())
	c.Request = c.Request.WithContext(access.WithCaller(c.Request.Context(), access.Caller{
		Principal: request.principal, Policy: a.policy, RequestID: request.id,
	}))
	c.Next()
}

// targetOf returns the project, workspace or organization that the request names in its path, query or body.
func targetOf(c *gin.Context, op *operation) (access.Target, error) {
	var target access.Target
	for name, id := range map[string]*uuid.UUID{
		"project_id": &target.Project, "workspace_id": &target.Workspace, "organization_id": &target.Organization,
	} {
		named := cmp.Or(c.Param(name), c.Query(name))
		if named == "" {
			continue
		}
		var err error
		if *id, err = uuid.Parse(named); err != nil {
			return access.Target{}, problem.Missing() // nothing has such an id
		}
	}
	if target != (access.Target{}) || !op.namesInBody {
		return target, nil
	}
	var body struct {
		ProjectID      uuid.UUID `json:"project_id"`
		WorkspaceID    uuid.UUID `json:"workspace_id"`
		OrganizationID uuid.UUID `json:"organization_id"`
		Filter         struct {
			ProjectID uuid.UUID `json:"project_id"`
		} `json:"filter"`
	}
	text, err := readAll(c, op.maxBody)
	if err != nil {
		return access.Target{}, err
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return access.Target{}, fmt.Errorf("read the target from the body: %w", err) // it was validated
	}
	return access.Target{
		Project: cmp.Or(body.Filter.ProjectID, body.ProjectID), Workspace: body.WorkspaceID, Organization: body.OrganizationID,
	}, nil
}

// readAll reads the body and leaves it readable.
func readAll(c *gin.Context, limit int64) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
	if err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", errMalformedBody, err) // cut off
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(text))
	return text, nil
}

// presentedKey returns the key of a request, valid or not, and whether it has one. Schemes other than Bearer belong to a
// proxy in front; browsers add them automatically.
func presentedKey(r *http.Request) (string, bool) {
	for _, header := range r.Header.Values("Authorization") {
		if scheme, key, _ := strings.Cut(header, " "); strings.EqualFold(scheme, "Bearer") {
			return strings.TrimSpace(key), true
		}
	}
	key := r.Header.Get("X-Api-Key")
	return key, key != ""
}

// presentsKey reports whether the request carries a key. If so, its cookies are ignored.
func presentsKey(r *http.Request) bool {
	_, presented := presentedKey(r)
	return presented
}

// credentialOf returns the key of the request, or else its session.
func credentialOf(r *http.Request, session identity.Presented) identity.Credential {
	if key, presented := presentedKey(r); presented {
		return identity.Credential{Key: key}
	}
	return identity.Credential{Session: session}
}
