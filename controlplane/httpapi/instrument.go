package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/instrument"
	"github.com/looptrace/looptrace/controlplane/projects"
	"github.com/looptrace/looptrace/internal/allowedhost"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/problem"
)

// Addresses are the addresses and host names of web.
type Addresses struct {
	// Public is shown to all clients. If empty, each client gets the address that its request was sent to.
	Public string
	// Web is the fallback for requests that did not come through web.
	Web string
	// Hosts are the hosts that a request without a key may name.
	Hosts allowedhost.List
	// WebSecret is what web proves itself with, wherever it runs. Without it, everything on this machine is taken for web.
	WebSecret string
}

// of returns this installation's address as the caller knows it.
func (a Addresses) of(ctx context.Context) string {
	if a.Public != "" {
		return a.Public
	}
	request := callOf(ctx)
	scheme := "http://"
	if request.https {
		scheme = "https://"
	}
	if address, ok := instrument.ValidEndpoint(scheme + request.web); ok {
		return address
	}
	return a.Web
}

type instrumentHandlers struct {
	projects  projectReader
	guides    *instrument.Guides
	addresses Addresses
}

type projectReader interface {
	Get(ctx context.Context, grant access.Grant) (projects.Project, error)
}

// GetInstrumentGuide returns the guide for recording programs in this installation.
func (h instrumentHandlers) GetInstrumentGuide(ctx context.Context, req contract.GetInstrumentGuideRequestObject) (contract.GetInstrumentGuideResponseObject, error) {
	project, err := h.projects.Get(ctx, grantOf(ctx))
	if err != nil {
		return nil, err
	}
	framework := valueOf(req.Params.Framework, "")
	guide, err := h.guides.Guide(h.addresses.of(ctx), string(valueOf(req.Params.Language, "")), framework, uuid.New())
	if errors.Is(err, instrument.ErrUnknownFramework) {
		return nil, problem.InvalidFields(problem.Field{
			Location: "query.framework", Value: framework,
			Message: "has no recipe in this language; omit it for the list of frameworks, or give the language for its general recipe",
		})
	}
	if err != nil {
		return nil, fmt.Errorf("write the instrument guide: %w", err)
	}
	answer := contract.GetInstrumentGuide200JSONResponse{
		ProjectId: project.ID, Endpoint: guide.Endpoint,
		Key: contract.InstrumentKey{
			Placeholder: instrument.KeyPlaceholder, Header: "Authorization: Bearer " + instrument.KeyPlaceholder,
			Scopes: []string{apikey.ScopeIngestWrite, apikey.ScopeRunsRead},
		},
		Environment: variablesOf(guide.Environment), Otlp: variablesOf(guide.OTLP),
		Frameworks: make([]contract.InstrumentFramework, len(guide.Frameworks)),
		SelfTest:   contract.InstrumentSelfTest{RunId: guide.Test.RunID, Send: guide.Test.Send, Check: guide.Test.Check, Tool: guide.Test.Tool},
	}
	for i, r := range guide.Frameworks {
		answer.Frameworks[i] = contract.InstrumentFramework{Id: r.ID, Title: r.Title, Language: r.Language}
		for _, p := range r.Packages {
			answer.Frameworks[i].Packages = append(answer.Frameworks[i].Packages, contract.InstrumentPackage{
				Registry: contract.InstrumentPackageRegistry(p.Registry), Name: p.Name,
			})
		}
	}
	if r := guide.Recipe; r != nil {
		answer.Recipe = &contract.InstrumentRecipe{Id: r.ID, Title: r.Title, Language: r.Language, Install: r.Install, File: r.File, Code: r.Code, Run: r.Run, Notes: r.Notes}
	}
	for _, step := range guide.Steps() {
		answer.Steps = append(answer.Steps, contract.InstrumentStep{Id: step.ID, Instruction: step.Instruction, Command: known(step.Command)})
	}
	return answer, nil
}

func variablesOf(variables []instrument.Variable) []contract.EnvironmentVariable {
	list := make([]contract.EnvironmentVariable, len(variables))
	for i, v := range variables {
		list[i] = contract.EnvironmentVariable(v)
	}
	return list
}

// serveLLMsText serves the guide without authentication.
func (h instrumentHandlers) serveLLMsText(c *gin.Context) error {
	text, err := h.guides.Text(h.addresses.of(c), uuid.New())
	if err != nil {
		return fmt.Errorf("write llms.txt: %w", err)
	}
	c.Data(http.StatusOK, "text/plain; charset=utf-8", []byte(text))
	return nil
}
