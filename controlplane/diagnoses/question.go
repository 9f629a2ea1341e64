package diagnoses

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/failures"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// instructions are those to the model. A change of them, or of what follows them, is a new version.
//
//go:embed instructions.md
var instructions string

const promptVersion = 3

const (
	// viewTokens is how many tokens all views have together, and maxView how many one has. givenTokens is how many tokens of each text are
	// shown that a model was given before its messages.
	viewTokens, maxView = 24_000, 8_000
	givenTokens         = 1_200
	// groupTokens is how many tokens the error of a group has.
	groupTokens = 300
	// maxOutput is how many tokens the answer has at most. Every model allows so many.
	maxOutput = 4096
)

var errRunGone = &problem.Error{Kind: problem.Conflict, Code: "run_deleted", Detail: "A run that the model was to see was deleted. Ask again."}

// question is what a model is asked.
type question struct {
	messages []json.RawMessage
	format   json.RawMessage
	tokens   int64
}

// ask writes the question about runs.
func (s *Service) ask(ctx context.Context, in access.Projects, config *Config) (*question, error) {
	var b strings.Builder
	b.WriteString(agentview.Notice + "\n")
	if config.Group != "" {
		b.WriteString("\n# The group\n\n" + config.Group + "\n")
	}
	budget := min(maxView, viewTokens/len(config.Runs))
	shown := []string{}
	for i := range config.Runs {
		run := &config.Runs[i]
		outline, err := s.runs.Outline(ctx, in, run.RunID)
		if errors.Is(err, runs.ErrNotFound) {
			return nil, errRunGone
		}
		if err != nil {
			return nil, err //nolint:wrapcheck // it is for the client
		}
		view, err := agentview.Build(outline, func(ids []uint64) ([]runs.Span, error) { return s.runs.Excerpts(ctx, outline, ids) }, s.viewOptions(budget))
		if err != nil {
			return nil, err //nolint:wrapcheck // it says what it does
		}
		word := "failed"
		if run.Good {
			word = "ended well"
		}
		fmt.Fprintf(&b, "\n# Run %d of %d, which %s\n\n%s", i+1, len(config.Runs), word, view.Body)
		given, err := s.given(ctx, in, &outline)
		if err != nil {
			return nil, err
		}
		if given.text != "" && !slices.Contains(shown, given.compared) {
			shown = append(shown, given.compared)
			fmt.Fprintf(&b, "What the model of step %s was given before its messages:\n%s\n", given.spanID, given.text)
		}
	}
	b.WriteString("\nNow claim the causes, and answer as the system message says.")
	q := &question{messages: []json.RawMessage{message("system", instructions), message("user", b.String())}, format: responseFormat()}
	for _, text := range []string{instructions, b.String(), string(q.format)} {
		q.tokens += int64(agentview.Count(text))
	}
	return q, nil
}

func (s *Service) viewOptions(budget int) agentview.Options {
	return agentview.Options{Budget: budget, Format: agentview.FormatJSON, Calls: noCalls{}, Key: s.fenceKey}
}

// noCalls says that the reader can ask for nothing more.
type noCalls struct{}

func (noCalls) Focus(uuid.UUID, string) string { return "none" }
func (noCalls) Span(uuid.UUID) string          { return "none" }

// given is what a model was given before its messages. compared tells whether another run's is the same.
type given struct{ spanID, text, compared string }

// given reads the instructions and the tools of the last call of a model before the failure, of the first one in a run without a failure. Agent
// views leave them out.
func (s *Service) given(ctx context.Context, in access.Projects, outline *runs.Outline) (given, error) {
	at := -1
	for i := range outline.Spans {
		span := &outline.Spans[i]
		if span.EffectiveKind() == runmodel.KindLLM && (at < 0 || outline.Run.FailingSpanID != 0) {
			at = i
		}
		if span.SpanID == outline.Run.FailingSpanID && at >= 0 {
			break
		}
	}
	if at < 0 {
		return given{}, nil
	}
	g := given{spanID: runmodel.FormatSpanID(outline.Spans[at].SpanID)}
	span, err := s.runs.Span(ctx, in, outline.Run.RunID, g.spanID)
	if err != nil {
		if errors.Is(err, runs.ErrNotFound) {
			err = errRunGone
		}
		return g, err //nolint:wrapcheck // it is for the client
	}
	var system, tools []string
	for _, raw := range span.SystemInstructions {
		system = append(system, instructionOf(raw))
	}
	for _, raw := range span.InputMessages {
		if role, text, _ := runmodel.MessageText(string(raw)); role == "system" || role == "developer" {
			system = append(system, text)
		}
	}
	for _, raw := range span.ToolDefinitions {
		tools = append(tools, string(raw))
	}
	texts := []agentview.Text{{Name: "instructions", Text: strings.Join(system, "\n")}, {Name: "tools", Text: strings.Join(tools, "\n")}}
	g.compared = texts[0].Text + "\x00" + texts[1].Text
	g.text = agentview.Recorded(outline.Run.RunID, texts, givenTokens, s.fenceKey)
	return g, nil
}

// instructionOf returns the text of a part of instructions.
func instructionOf(raw json.RawMessage) string {
	var part runmodel.MessagePart
	if json.Unmarshal(raw, &part) != nil || len(part.Content) == 0 {
		return runmodel.PlainJSON(raw)
	}
	return part.Text()
}

// groupText says what is known of a group.
func (s *Service) groupText(g *failures.Group) string {
	var b strings.Builder
	step := agentview.SafeName(g.StepKind) + " " + agentview.SafeName(g.StepName)
	fmt.Fprintf(&b, "- class %s, failing step %s, agent %s\n", agentview.SafeName(g.Class), step, cmp.Or(agentview.SafeName(g.AgentName), "unknown"))
	fmt.Fprintf(&b, "- %d runs of %d runs of the agent\n", g.Runs, g.AgentRuns)
	for _, c := range g.Contrasts {
		fmt.Fprintf(&b, "- %s=%s: %d of its %d runs, %d of %d others\n", agentview.SafeName(c.Name), agentview.SafeName(c.Value), c.With, c.Runs, c.OthersWith, c.OthersRuns)
	}
	return b.String() + agentview.Recorded(uuid.Nil, []agentview.Text{{Name: "error", Text: strings.Trim(g.ErrorType+": "+g.Template, ": ")}}, groupTokens, s.fenceKey)
}

// message is a message of chat completions.
func message(role, content string) json.RawMessage {
	return jsontext.MustEncode(map[string]string{"role": role, "content": content})
}

// responseFormat is the schema of the answer. An edit is JSON in a text: strict schemas cannot describe it.
func responseFormat() json.RawMessage {
	claim := map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"claim", "run_id", "step", "quotes", "edit"},
		"properties": map[string]any{
			"claim": map[string]any{"type": "string"}, "run_id": map[string]any{"type": "string"}, "step": map[string]any{"type": "string"},
			"quotes": map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
			"edit":   map[string]any{"type": []string{"string", "null"}},
		},
	}
	return jsontext.MustEncode(map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "diagnosis", "strict": true, "schema": map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"claims"},
		"properties": map[string]any{"claims": map[string]any{"type": "array", "items": claim}},
	}}})
}

// reminder is a message for one more try after an answer that could not be read. The answer itself is left out: it may quote what was recorded.
func reminder() json.RawMessage {
	return message("user", `An earlier answer could not be read. Answer with one JSON object and nothing else: {"claims": [{"claim": "…", "run_id": "…", "step": "…", "quotes": ["…"], "edit": null}]}.`)
}
