package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/rest"
)

const (
	// pollInterval is the time between two questions, and patience how long an eval-run may be without a summary.
	pollInterval = 500 * time.Millisecond
	patience     = 2 * time.Minute
	pageSize     = 50
	// extends is the metadata that names the eval-run whose results another one has too.
	extends = "extends"
)

// evalRun is EvalRun of the API.
type evalRun struct {
	ID        string            `json:"id"`
	ProjectID string            `json:"project_id"`
	Name      string            `json:"name"`
	Branch    *string           `json:"branch"`
	Commit    *string           `json:"commit"`
	CreatedAt time.Time         `json:"created_at"`
	Metadata  map[string]string `json:"metadata"`
	Dataset   struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"dataset"`
}

// mean is EvaluationMean of the API.
type mean struct {
	Mean *float64   `json:"mean"`
	CI   *[]float64 `json:"ci"`
	N    int64      `json:"n"`
}

// decision is GateDecision of the API.
type decision struct {
	Decision   string  `json:"decision"`
	Sentence   string  `json:"sentence"`
	Metric     string  `json:"metric"`
	Better     string  `json:"better"`
	Margin     float64 `json:"margin"`
	Candidate  mean    `json:"candidate"`
	Baseline   mean    `json:"baseline"`
	Difference struct {
		Estimate *float64   `json:"estimate"`
		CI       *[]float64 `json:"ci"`
	} `json:"difference"`

	// raw is the whole answer.
	raw json.RawMessage
}

// decide finds the eval-runs and asks for the decision on each metric.
func (o *options) decide(ctx context.Context, client *rest.Client, r *report) error {
	candidate, err := o.findCandidate(ctx, client)
	if err != nil {
		return fmt.Errorf("find the candidate: %w", err)
	}
	baseline, err := o.findBaseline(ctx, client, candidate)
	if err != nil {
		return fmt.Errorf("find the baseline: %w", err)
	}
	r.candidate, r.baseline = newSide(client, candidate), newSide(client, baseline)
	for _, t := range o.thresholds {
		d, err := ask(ctx, client, candidate.ID, baseline.ID, o.groupBy, t)
		if err != nil {
			return fmt.Errorf("check %s: %w", rest.Printable(t.metric), err)
		}
		r.decisions = append(r.decisions, d)
	}
	return nil
}

func (o *options) findCandidate(ctx context.Context, client *rest.Client) (*evalRun, error) {
	if o.candidate != "" {
		return read(ctx, client, o.candidate)
	}
	query := url.Values{"name": {o.name}}
	if o.commit = cmp.Or(o.commit, commit(ctx)); o.commit == "" {
		return nil, errors.New("this is no git checkout: name the commit with --commit, or the eval-run with --candidate")
	}
	query.Set("commit", o.commit)
	if o.branch != "" {
		query.Set("branch", o.branch)
	}
	found, err := o.newest(ctx, client, query, nil)
	if err == nil && found == nil {
		err = fmt.Errorf("no eval-run of %s has the commit %s: evaluate it first, or name the eval-run with --candidate", o.name, o.commit)
	}
	return found, err
}

func (o *options) findBaseline(ctx context.Context, client *rest.Client, candidate *evalRun) (*evalRun, error) {
	if o.baseline != "" {
		return read(ctx, client, o.baseline)
	}
	branch := cmp.Or(o.baselineBranch, baseBranch())
	query := url.Values{"name": {candidate.Name}, "dataset_id": {candidate.Dataset.ID}, "branch": {branch}, "status": {"succeeded"}}
	found, err := o.newest(ctx, client, query, candidate)
	if err == nil && found == nil {
		err = fmt.Errorf("no other eval-run of %s succeeded on the branch %s with the dataset %s: evaluate that branch first, or name the eval-run with --baseline",
			rest.Printable(candidate.Name), branch, rest.Printable(candidate.Dataset.Name))
	}
	return found, err
}

// newest returns the newest eval-run that is neither except nor one that except extends, or nil.
func (o *options) newest(ctx context.Context, client *rest.Client, query url.Values, except *evalRun) (*evalRun, error) {
	same := map[string]bool{}
	if except != nil {
		same[except.ID], same[except.Metadata[extends]] = true, true
	}
	if o.project != "" {
		query.Set("project_id", o.project)
	}
	query.Set("limit", strconv.Itoa(pageSize))
	for offset := 0; ; offset += pageSize {
		query.Set("offset", strconv.Itoa(offset))
		var page struct {
			Data    []evalRun `json:"data"`
			HasMore bool      `json:"has_more"`
		}
		if err := client.Read(ctx, rest.Call{Method: http.MethodGet, Path: []string{"v1", "eval-runs"}, Query: query}, &page); err != nil {
			return nil, err
		}
		for i := range page.Data {
			if found := &page.Data[i]; !same[found.ID] {
				return found, nil
			}
			same[page.Data[i].Metadata[extends]] = true
		}
		if !page.HasMore {
			return nil, nil //nolint:nilnil // the caller says what was looked for
		}
	}
}

func read(ctx context.Context, client *rest.Client, id string) (*evalRun, error) {
	var found evalRun
	if err := client.Do(ctx, http.MethodGet, nil, &found, "v1", "eval-runs", id); err != nil {
		return nil, err
	}
	return &found, nil
}

// ask asks for a decision, and waits while an eval-run is being summarized.
func ask(ctx context.Context, client *rest.Client, candidate, baseline, groupBy string, t threshold) (decision, error) {
	question := map[string]any{"candidate": candidate, "baseline": baseline, "metric": t.metric}
	if t.margin != nil {
		question["margin"] = *t.margin
	}
	if groupBy != "" {
		question["group_by"] = groupBy
	}
	body, err := json.Marshal(question)
	if err != nil {
		return decision{}, fmt.Errorf("write the request: %w", err)
	}
	end := time.Now().Add(patience)
	for {
		var d decision
		err := client.Do(ctx, http.MethodPost, body, &d.raw, "v1", "gates", "_actions", "check")
		var refused *rest.RefusedError
		switch {
		case err == nil:
			if err := json.Unmarshal(d.raw, &d); err != nil || d.Decision == "" {
				return decision{}, errors.New("the answer is not that of Looptrace: give its address with LOOPTRACE_ENDPOINT")
			}
			return d, nil
		case !errors.As(err, &refused) || refused.Code != "evaluation_running":
			return decision{}, err
		case time.Now().After(end):
			return decision{}, fmt.Errorf("%w; was it finished? The SDK does so at the end", err)
		}
		select {
		case <-ctx.Done():
			return decision{}, fmt.Errorf("wait for the summary: %w", ctx.Err())
		case <-time.After(pollInterval):
		}
	}
}
