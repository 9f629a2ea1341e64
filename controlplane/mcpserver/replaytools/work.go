package replaytools

import (
	"context"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/mcpserver/tool"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
)

// Work lists what takes longer than a request.
type Work interface {
	List(ctx context.Context, grant access.Grant, filter work.Filter, page postgres.Page) ([]work.Listed, bool, error)
}

const (
	// workPage is how much work a result has, and maxWorkOffset how much can be skipped.
	workPage      = 20
	maxWorkOffset = 10_000
)

type workInput struct {
	ProjectID string `json:"project_id,omitempty"`
	State     string `json:"state,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Offset    int    `json:"offset,omitempty"`
	tool.Budget
}

func (in workInput) Project() string { return in.ProjectID }

type workOutput struct {
	Notice      string      `json:"notice"`
	TokenBudget int         `json:"token_budget"`
	TokensUsed  int         `json:"tokens_used"`
	Work        []shownWork `json:"work"`
	Next        []string    `json:"next"`
	NextPage    string      `json:"next_page,omitempty"`
}

type shownWork struct {
	ID        string `json:"id"`
	Kind      string `json:"kind"`
	ProjectID string `json:"project_id"`
	Status    string `json:"status"`
	// Done of Total Unit are done. Total is absent until it is known.
	Done      int64      `json:"done"`
	Total     *int64     `json:"total,omitempty"`
	Unit      string     `json:"unit"`
	Waits     *shownWait `json:"waits,omitempty"`
	CreatedAt string     `json:"created_at"`
	ErrorCode string     `json:"error_code,omitempty"`
	// Recorded has the name and the error between marks.
	Recorded string `json:"recorded,omitempty"`
}

// shownWait is why work does not run now.
type shownWait struct {
	For   string `json:"for"`
	Until string `json:"until,omitempty"`
	// Running of the project have a place, and Ahead of it wait for one.
	Running int `json:"running,omitempty"`
	Ahead   int `json:"ahead,omitempty"`
}

func (t *tools) addWork(server *mcp.Server) error {
	input, err := tool.InputSchema[workInput](map[string]func(*jsonschema.Schema){
		"project_id": tool.Pattern(tool.UUIDPattern),
		"state":      func(s *jsonschema.Schema) { s.Enum, s.Default = []any{"open", "ended"}, []byte(`"open"`) },
		"kind": func(s *jsonschema.Schema) {
			s.Enum = []any{"import", "near_duplicate_check", "comparison", "eval_run", "replay", "replay_batch", "diagnosis"}
		},
		"offset": func(s *jsonschema.Schema) { s.Minimum, s.Maximum = new(0.0), new(float64(maxWorkOffset)) },
	})
	if err != nil {
		return err
	}
	return tool.Add[workInput, workOutput](t.Shared, server, "listWork", mcp.Tool{
		Name: tool.WorkList, Title: "List background work",
		Description: "Lists replays, batches of them, diagnoses, comparisons, eval-runs and imports, the newest first: how far each is, and what it waits for: turn (a place; " +
			"ahead is older work), retry (after a try that failed), later or provider (until).",
	}, input, t.listWork)
}

// listWork returns a page of work. What the budget has no room for is on the next page.
func (t *tools) listWork(ctx context.Context, grant access.Grant, in workInput) ([]byte, error) {
	asked := in
	in.SetDefaults()
	if in.State == "" {
		in.State = "open"
	}
	found, more, err := t.work.List(ctx, grant, work.Filter{State: in.State, Kind: in.Kind}, postgres.Page{Limit: workPage, Offset: in.Offset})
	if err != nil {
		return nil, err
	}
	shown := make([]shownWork, len(found))
	for i := range found {
		shown[i] = t.shownWork(&found[i])
	}
	for n := len(shown); ; {
		out := workOutput{Notice: agentview.Notice, TokenBudget: in.TokenBudget, Work: shown[:n], Next: []string{}}
		for i := range found[:n] {
			if found[i].Kind == "replay" {
				out.Next = append(out.Next, t.Call(tool.ReplayDiff, diffCall{ReplayID: shown[i].ID, WaitSeconds: defaultWait}))
				break
			}
		}
		if next := in.Offset + n; (more || n < len(shown)) && next <= maxWorkOffset {
			asked.Offset = next
			out.NextPage = t.Call(tool.WorkList, asked)
		}
		body := tool.EncodeCounted(&out, &out.TokensUsed)
		if out.TokensUsed <= in.TokenBudget {
			return body, nil
		}
		if n <= 1 {
			return nil, tool.Error("token_budget is too small. Call again with a larger one.")
		}
		n = max(1, min(n-1, n*in.TokenBudget/out.TokensUsed))
	}
}

func (t *tools) shownWork(w *work.Listed) shownWork {
	shown := shownWork{
		ID: w.ID.String(), Kind: w.Kind, ProjectID: w.ProjectID.String(), Status: w.Status, Done: w.Done, Total: w.Total, Unit: w.Unit,
		CreatedAt: w.CreatedAt.UTC().Format(time.RFC3339),
	}
	if w.WaitsFor != nil {
		shown.Waits = &shownWait{For: *w.WaitsFor, Running: w.Running, Ahead: w.Ahead}
		if w.WaitsUntil != nil {
			shown.Waits.Until = w.WaitsUntil.UTC().Format(time.RFC3339)
		}
	}
	texts := []agentview.Text{{Name: "name", Text: w.Name}}
	if w.ErrorCode != nil {
		shown.ErrorCode = *w.ErrorCode
	}
	if w.ErrorDetail != nil {
		texts = append(texts, agentview.Text{Name: "error", Text: *w.ErrorDetail})
	}
	shown.Recorded = agentview.Recorded(w.ID, texts, errorTokens, t.FenceKey)
	return shown
}
