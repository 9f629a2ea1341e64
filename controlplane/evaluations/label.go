package evaluations

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/optional"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// Label is what a person says of an output, on the scale of a panel.
type Label struct {
	Number       int32
	Side, Repeat int
	// Score is the name of the panel, Rating the label from 0 to 1.
	Score   string
	Author  string
	Email   *string
	KeyName *string
	Value   float64
	Label   *string
	Note    string
	Rating  *float64 `db:"-"`
	Pass    *bool    `db:"-"`
	// Numeric is whether Value is a number of the scale, and not of a label.
	Numeric   bool `db:"-"`
	CreatedAt time.Time
}

// addItemLabels adds the labels on outputs of items that were given on the scales of the panels.
func (s *Service) addItemLabels(ctx context.Context, e *Evaluation, numbers []int32, byNumber map[int32]*Item) error {
	panels, names, err := e.LabelledPanels()
	if err != nil || len(panels) == 0 {
		return err
	}
	scales := make([]string, len(names))
	for i, name := range names {
		scales[i] = panels[name].ScaleText()
	}
	found, err := postgres.Many[Label](ctx, s.db, "list labels of items", pgx.NamedArgs{"project": e.ProjectID, "id": e.ID, "numbers": numbers, "scores": names, "scales": scales})
	if err != nil {
		return err
	}
	for i := range found {
		found[i].rate(panels[found[i].Score])
		item := byNumber[found[i].Number]
		item.Labels = append(item.Labels, found[i])
	}
	return nil
}

// LabelledPanels returns the panels of scores by their names.
func (e *Evaluation) LabelledPanels() (map[string]*ReadyPanel, []string, error) {
	config, err := e.ReadConfig()
	if err != nil || len(config.Panels) == 0 {
		return nil, nil, err
	}
	list, err := config.ReadPanels("panels", e.Kind)
	if err != nil {
		return nil, nil, err
	}
	panels, names := map[string]*ReadyPanel{}, []string{}
	for i := range list {
		if list[i].Kind == judge.TypeScore {
			panels[list[i].Name], names = &list[i], append(names, list[i].Name)
		}
	}
	return panels, names, nil
}

// rate fills in what the label means on the scale of its panel.
func (l *Label) rate(p *ReadyPanel) {
	l.Rating, l.Pass = p.Input(0).Rate(p.Value(l.Value))
	l.Numeric = len(p.Scale.Labels) == 0
}

// LabelTarget names an output and the panel that it is labelled for.
type LabelTarget struct {
	// Kind and Evaluation are those of the evaluation that has the output.
	Kind       Type
	Evaluation uuid.UUID
	Item       uuid.UUID
	Panel      string
	// Side is 0 for a, which is that of eval-runs, and 1 for b.
	Side, Repeat int
}

// NewLabel is a label to put.
type NewLabel struct {
	LabelTarget
	// Value is a number or a label of the scale, as JSON.
	Value []byte
	Note  string
}

// PutLabel stores the caller's label of an output. It replaces one before.
func (s *Service) PutLabel(ctx context.Context, grant access.Grant, n *NewLabel) (Label, error) {
	label := Label{Side: n.Side, Repeat: n.Repeat, Score: n.Panel, Note: n.Note, KeyName: grant.CreatedByKey(), CreatedAt: s.now()}
	if utf8text.Storable(n.Note) != n.Note {
		return label, problem.InvalidField("body.note", "has characters that cannot be stored")
	}
	ready, args, err := s.labelOf(ctx, grant, "body", &n.LabelTarget)
	if err != nil {
		return label, err
	}
	value, text, err := ready.Scale.Label(n.Value)
	if err != nil {
		return label, problem.InvalidField("body.value", "is not on the scale of the panel: "+err.Error())
	}
	label.Value, label.Label = value, optional.NonZero(text)
	args["user"], args["key_name"], args["value"], args["label"], args["note"], args["now"] = grant.CreatedBy(), grant.CreatedByKey(), value, label.Label, n.Note, label.CreatedAt
	label.rate(ready)
	err = s.changeLabel(ctx, args, func(ctx context.Context, tx postgres.DB) error {
		_, err := tx.Exec(ctx, "put label", args)
		return err
	})
	return label, err
}

// DeleteLabel removes the caller's label of an output, if there is one.
func (s *Service) DeleteLabel(ctx context.Context, grant access.Grant, at *LabelTarget) error {
	_, args, err := s.labelOf(ctx, grant, "query", at)
	if err != nil {
		return err
	}
	return s.changeLabel(ctx, args, func(ctx context.Context, tx postgres.DB) error {
		_, err := tx.Exec(ctx, "delete label", args)
		return err
	})
}

// labelOf finds an output that is labelled. location is that of its parameters in the request.
func (s *Service) labelOf(ctx context.Context, grant access.Grant, location string, at *LabelTarget) (*ReadyPanel, pgx.NamedArgs, error) {
	e, err := s.Get(ctx, grant, at.Kind, at.Evaluation)
	if err != nil {
		return nil, nil, err
	}
	panels, _, err := e.LabelledPanels()
	if err != nil {
		return nil, nil, err
	}
	if panels[at.Panel] == nil {
		return nil, nil, problem.InvalidField(location+".panel", "is no panel of scores")
	}
	found, err := postgres.Many[struct{ ItemHash, OutputHash []byte }](ctx, s.db, "find output to label", pgx.NamedArgs{"id": e.ID, "item": at.Item, "side": at.Side, "repeat": at.Repeat})
	if err != nil {
		return nil, nil, err
	}
	if len(found) == 0 {
		return nil, nil, problem.Missing()
	}
	author := "key:" + optional.Value(grant.CreatedByKey())
	if user := grant.CreatedBy(); user != nil {
		author = "user:" + user.String()
	}
	return panels[at.Panel], pgx.NamedArgs{
		"project": e.ProjectID, "dataset": e.DatasetID, "item": at.Item, "score": at.Panel, "item_hash": found[0].ItemHash, "output_hash": found[0].OutputHash, "author": author,
		"scale": panels[at.Panel].ScaleText(),
	}, nil
}

// SummaryJob summarizes an evaluation again because labels changed.
type SummaryJob struct {
	EvaluationID uuid.UUID `json:"evaluation_id"`
}

// Kind is that of the jobs.
func (SummaryJob) Kind() string { return "evaluation_summary" }

// Queue is the queue of the job.
func (SummaryJob) Queue() string { return work.Summaries }

// changeLabel changes a label, and adds a job for each evaluation of the dataset that has its output and its panel, unless one waits.
//
// The lock on the evaluations makes sure that no label is lost: a job that was seen waiting locks its evaluation before it reads labels,
// which is after the commit.
func (s *Service) changeLabel(ctx context.Context, args pgx.NamedArgs, change func(context.Context, postgres.DB) error) error {
	return s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		type labelled struct{ ID, ProjectID uuid.UUID }
		found, err := postgres.Many[labelled](ctx, tx, "lock labelled evaluations", args)
		if err != nil {
			return err
		}
		if err := change(ctx, tx); err != nil {
			return err
		}
		ids := make([]uuid.UUID, len(found))
		for i := range found {
			ids[i] = found[i].ID
		}
		// A statement of its own, which sees what became of jobs while the one before waited.
		lacking, err := postgres.Many[labelled](ctx, tx, "list evaluations to summarize again", pgx.NamedArgs{"ids": ids, "job": SummaryJob{}.Kind()})
		if err != nil {
			return err
		}
		for _, one := range lacking {
			if _, err := s.jobs.Add(ctx, tx.PGX(), one.ProjectID, SummaryJob{one.ID}); err != nil {
				return err //nolint:wrapcheck // it says what it does
			}
		}
		return nil
	})
}
