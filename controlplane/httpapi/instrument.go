package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/instrument"
	"github.com/looptrace/looptrace/internal/allowedhost"
	"github.com/looptrace/looptrace/internal/apikey"
)

// Addresses are where web can be reached, and by which names.
type Addresses struct {
	// Public is the one to tell everybody; empty to tell the one that a request was sent to.
	Public string
	// Web is told where a request did not come through web.
	Web string
	// Hosts are what a request without a key may name.
	Hosts allowedhost.List
}

// GetInstrumentGuide says how to record programs in this installation.
func (a *api) GetInstrumentGuide(ctx context.Context, req GetInstrumentGuideRequestObject) (GetInstrumentGuideResponseObject, error) {
	project, err := a.identity.Project(ctx, callOf(ctx).principal, req.Params.ProjectId)
	if err != nil {
		return nil, err
	}
	framework := valueOf(req.Params.Framework, "")
	guide, err := a.guides.Guide(a.endpoint(ctx), string(valueOf(req.Params.Language, "")), framework, uuid.New())
	if errors.Is(err, instrument.ErrUnknownFramework) {
		return nil, requestErrors{{
			Location: "query.framework", Value: framework,
			Message: "has no recipe in this language; without it the answer lists the frameworks and, with a language, has the general recipe",
		}}
	}
	if err != nil {
		return nil, fmt.Errorf("write the instrument guide: %w", err)
	}
	answer := GetInstrumentGuide200JSONResponse{
		ProjectId: project.ID, Endpoint: guide.Endpoint,
		Key: InstrumentKey{
			Placeholder: instrument.KeyPlaceholder, Header: "Authorization: Bearer " + instrument.KeyPlaceholder,
			Scopes: []string{apikey.ScopeIngestWrite, apikey.ScopeRunsRead},
		},
		Environment: variablesOf(guide.Environment), Otlp: variablesOf(guide.OTLP),
		Frameworks: make([]InstrumentFramework, len(guide.Frameworks)),
		SelfTest:   InstrumentSelfTest{RunId: guide.Test.RunID, Send: guide.Test.Send, Check: guide.Test.Check, Tool: guide.Test.Tool},
	}
	for i, r := range guide.Frameworks {
		answer.Frameworks[i] = InstrumentFramework{Id: r.ID, Title: r.Title, Language: r.Language}
		for _, p := range r.Packages {
			answer.Frameworks[i].Packages = append(answer.Frameworks[i].Packages, InstrumentPackage{
				Registry: InstrumentPackageRegistry(p.Registry), Name: p.Name,
			})
		}
	}
	if r := guide.Recipe; r != nil {
		answer.Recipe = &InstrumentRecipe{Id: r.ID, Title: r.Title, Language: r.Language, Install: r.Install, Code: r.Code, Notes: r.Notes}
	}
	for _, step := range guide.Steps() {
		answer.Steps = append(answer.Steps, InstrumentStep{Id: step.ID, Instruction: step.Instruction, Command: known(step.Command)})
	}
	return answer, nil
}

func variablesOf(variables []instrument.Variable) []EnvironmentVariable {
	list := make([]EnvironmentVariable, len(variables))
	for i, v := range variables {
		list[i] = EnvironmentVariable(v)
	}
	return list
}

// endpoint is this installation's address as the caller knows it.
func (a *api) endpoint(ctx context.Context) string {
	if a.addresses.Public != "" {
		return a.addresses.Public
	}
	request := callOf(ctx)
	scheme := "http://"
	if request.https {
		scheme = "https://"
	}
	if address, ok := instrument.ValidEndpoint(scheme + request.web); ok {
		return address
	}
	return a.addresses.Web
}

// serveLLMsText serves the guide to whoever asks.
func (a *api) serveLLMsText(c *gin.Context) {
	text, err := a.guides.Text(a.endpoint(c), uuid.New())
	if err != nil {
		a.fail(c, fmt.Errorf("write llms.txt: %w", err))
		return
	}
	c.Data(http.StatusOK, "text/plain; charset=utf-8", []byte(text))
}
