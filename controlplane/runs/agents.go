package runs

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// agentOrName names the agent of a run, or the run if it names no agent.
const agentOrName = "if(agent_name != '', toString(agent_name), name)"

// MaxAgentName is how long the name of an agent may be to be listed, in bytes.
const MaxAgentName = 1000

// AgentCount counts the runs of an agent.
type AgentCount struct {
	Agent string `ch:"agent"`
	Runs  uint64 `ch:"runs"`
	// Releases counts its releases, and Released the runs that have one.
	Releases uint64    `ch:"releases"`
	Released uint64    `ch:"released"`
	First    time.Time `ch:"first"`
	Last     time.Time `ch:"last"`
}

// Agents counts the runs that a filter selects by agent, or by name where they name no agent, the agents with the most runs first.
func (s *Service) Agents(ctx context.Context, projects access.Projects, f Filter, limit, offset int) ([]AgentCount, error) {
	projects = projects.Only(f.ProjectID)
	w, err := s.where(ctx, projects, Selection{Filter: f}, s.now())
	if err != nil {
		return nil, err
	}
	agents := []AgentCount{}
	err = query(ctx, s.conn, projects, &agents, `
		SELECT `+agentOrName+` AS agent, count() AS runs, uniqExactIf(agent_release, agent_release != '') AS releases,
			countIf(agent_release != '') AS released, min(start_time) AS first, max(start_time) AS last
		FROM runs FINAL WHERE `+w.String()+`
		GROUP BY agent HAVING agent != '' AND length(agent) <= ? ORDER BY runs DESC, agent LIMIT ? OFFSET ?`, append(w.args, MaxAgentName, limit, offset)...)
	return agents, err
}

// AgentRun is what the comparison of an agent's releases needs of a run.
type AgentRun struct {
	RunID        uuid.UUID `ch:"run_id"`
	StartTime    time.Time `ch:"start_time"`
	AgentRelease string    `ch:"agent_release"`
	Outcome      string    `ch:"outcome"`
	DurationMs   *float64  `ch:"duration_ms"` // nil if the end is unknown
	CostUSD      *float64  `ch:"cost_usd"`
}

// ofAgent selects runs of an agent, or of a name without an agent.
func (s *Service) ofAgent(ctx context.Context, projects access.Projects, f Filter, agent string) (Filter, where, error) {
	f, err := s.resolve(ctx, projects, f)
	if err != nil {
		return f, where{}, err
	}
	w, err := s.where(ctx, projects, Selection{Filter: f}, s.now())
	w.add(agentOrName+" = ?", agent)
	return f, w, err
}

// AgentRuns returns the newest runs of an agent that a filter selects, the newest first.
func (s *Service) AgentRuns(ctx context.Context, projects access.Projects, f Filter, agent string, limit int) ([]AgentRun, error) {
	projects = projects.Only(f.ProjectID)
	f, w, err := s.ofAgent(ctx, projects, f, agent)
	if err != nil {
		return nil, err
	}
	outcome, args := f.outcome(f.StartAfter)
	found := []AgentRun{}
	err = query(ctx, s.conn, projects, &found, `
		SELECT run_id, start_time, agent_release, `+outcome+` AS outcome, if(`+hasEnd+`, (`+duration+`) / 1e6, NULL) AS duration_ms, cost_usd
		FROM runs FINAL WHERE `+w.String()+` ORDER BY start_time DESC, run_id DESC LIMIT ?`, append(append(args, w.args...), limit)...)
	return found, err
}

// AgentParts are the parts that make a release.
type AgentParts struct {
	AgentRelease string            `ch:"agent_release"`
	Parts        map[string]string `ch:"parts"`
}

// AgentParts returns the parts of some releases of an agent.
func (s *Service) AgentParts(ctx context.Context, projects access.Projects, f Filter, agent string, releases []string) ([]AgentParts, error) {
	projects = projects.Only(f.ProjectID)
	_, w, err := s.ofAgent(ctx, projects, f, agent)
	if err != nil {
		return nil, err
	}
	w.add("agent_release IN (?)", releases)
	var found []AgentParts
	err = query(ctx, s.conn, projects, &found, `SELECT agent_release, CAST(any(agent_parts) AS Map(String, String)) AS parts
		FROM runs FINAL WHERE `+w.String()+` GROUP BY agent_release`, w.args...)
	return found, err
}

// AgentScore is the newest score of a name that a run has as a whole. A boolean is 0 or 1.
type AgentScore struct {
	RunID     uuid.UUID `ch:"run_id"`
	Name      string    `ch:"score"`
	IsBoolean bool      `ch:"is_boolean"`
	Number    float64   `ch:"value"`
}

// AgentScores returns the scores of the newest runs of an agent that a filter selects. maxScores limits them.
func (s *Service) AgentScores(ctx context.Context, projects access.Projects, f Filter, agent string, limit, maxScores int) ([]AgentScore, error) {
	projects = projects.Only(f.ProjectID)
	_, w, err := s.ofAgent(ctx, projects, f, agent)
	if err != nil {
		return nil, err
	}
	var found []AgentScore
	err = query(ctx, s.conn, projects, &found, `
		SELECT run_id, substring(toString(name), 1, 200) AS score, value_kind = '`+runmodel.ScoreBoolean+`' AS is_boolean, assumeNotNull(number) AS value FROM scores FINAL
		WHERE `+projectsMark+` AND span_id = 0 AND `+hasValue+` AND value_kind != '`+runmodel.ScoreCategory+`' AND run_id IN (
			SELECT run_id FROM runs FINAL WHERE `+w.String()+` ORDER BY start_time DESC, run_id DESC LIMIT ?)
		ORDER BY version DESC, score_id LIMIT 1 BY run_id, score LIMIT ?`, append(w.args, limit, maxScores)...)
	return found, err
}

// RunAgent is what makes the agent of a run, with the texts that its parts stand for.
type RunAgent struct {
	runmodel.Run
	// SpanID is that of the model call that says it, 0 if there is none.
	SpanID uint64
	// Instructions is nil if the agent has none, or if they are not recorded.
	Instructions    *string
	ToolDefinitions []json.RawMessage
}

// agentColumns are the columns that runmodel.AgentSteps needs.
var agentColumns = append(slices.Clone(treeColumns), "agent_name", "tool_name", "response_model", "agent_parts",
	"arraySlice(input_message_ids, 1, 1) AS input_message_ids", "instructions_id", "instructions_text_id", "system_message_text_id", "tool_definitions_id")

// Agent reads what makes the agent of a run.
func (s *Service) Agent(ctx context.Context, projects access.Projects, runID uuid.UUID) (RunAgent, error) {
	return located(ctx, s, projects, runID, s.agentAt)
}

func (s *Service) agentAt(ctx context.Context, loc location, runID uuid.UUID) (RunAgent, error) {
	w := loc.where(runID)
	var rows []runmodel.Run
	err := query(ctx, s.conn, loc.projects, &rows, `SELECT run_id, agent_name, agent_release, agent_parts, llm_call_count FROM runs FINAL WHERE `+w.String()+`
		ORDER BY version DESC LIMIT 1`, w.args...)
	if err == nil && len(rows) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return RunAgent{}, err
	}
	agent := RunAgent{Run: rows[0], ToolDefinitions: []json.RawMessage{}}
	spans, err := s.listSpans(ctx, loc, runID, agentColumns, 0)
	if err != nil {
		return RunAgent{}, err
	}
	folded := make([]runmodel.Span, len(spans))
	for i := range spans {
		folded[i] = spans[i].Span
	}
	steps := runmodel.AgentSteps(agent.AgentName, folded)
	if len(steps) == 0 {
		return agent, nil
	}
	agent.SpanID = folded[steps[0]].SpanID
	var instructions, tools uint64
	for _, i := range steps {
		span := &folded[i]
		if span.InstructionsTextID != 0 && instructions == 0 {
			instructions = span.InstructionsID
		} else if span.SystemMessageTextID != 0 && instructions == 0 {
			instructions = span.InputMessageIDs[0]
		}
		if tools == 0 {
			tools = span.ToolDefinitionsID
		}
	}
	contents, err := s.contentsOf(ctx, loc, runID, []uint64{instructions, tools}, fullContent)
	if err != nil {
		return RunAgent{}, err
	}
	text, err := contents.text(instructions)
	if err != nil {
		return RunAgent{}, err
	}
	agent.Instructions = nonEmpty(runmodel.ContentSystemText(contents[instructions].Kind, string(text)))
	agent.ToolDefinitions, err = contents.elements(tools)
	return agent, err
}
