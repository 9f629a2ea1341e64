// Package experiments makes eval-runs of the experiments that SDKs of Langfuse report in spans. A job finds the runs that were written
// since it last looked, and adds the results in them to the eval-run of their experiment.
package experiments

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/start"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
)

//go:embed queries.sql
var queries string

const (
	// passEvery is how often a pass begins.
	passEvery = 5 * time.Second
	// quietTime is how long an experiment must bring no result to be finished.
	quietTime = 2 * time.Minute
	// clockDifference is how much the clocks of this process and of ClickHouse may differ when the first pass begins.
	clockDifference = time.Minute
	// maxFound is how many runs a pass finds at a time, and maxPages how many times.
	maxFound, maxPages = 1000, 20
	// maxRuns is how many runs of a project a pass reads, and runsAtOnce how many of them one statement reads.
	maxRuns, runsAtOnce = 1000, 50
	// maxReads is how many attempts to read a run keep the experiments of its project from being finished.
	maxReads = 3
	// maxFinished is how many experiments a pass finishes.
	maxFinished = 100
	// maxItems is how many items an experiment has.
	maxItems = 10_000
	// maxNew is how many experiments a project begins in a day.
	maxNew = 1000
	// growAtOnce is how many results are added at once.
	growAtOnce = 200
)

// Service makes eval-runs of experiments.
type Service struct {
	db          postgres.DB
	runs        *runs.Service
	datasets    *datasets.Service
	evaluations *evaluations.Service
	growing     *start.Starter
	now         func() time.Time
	log         *slog.Logger
}

// passArgs are those of the job that looks for experiments.
type passArgs struct{}

// Kind is that of the job.
func (passArgs) Kind() string { return "experiments" }

// New returns a service on the database, which works as a job of the queue. now is the clock.
func New(
	pool *pgxpool.Pool, queue *work.Queue, reader *runs.Service, sets *datasets.Service, evaluated *evaluations.Service, growing *start.Starter, now func() time.Time,
	log *slog.Logger,
) *Service {
	s := &Service{postgres.NewDB(pool, queries), reader, sets, evaluated, growing, postgres.Clock(now), log}
	work.Repeat(queue, passEvery, passArgs{}, func(ctx context.Context, _ passArgs, _ bool) error {
		if err := s.Pass(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "look for experiments; will retry", "error", err)
		}
		return nil
	})
	return s
}

// experiment is an experiment of a project.
type experiment struct {
	ID         uuid.UUID
	ProjectID  uuid.UUID
	ExternalID string
	Name       string
	// Metadata is a JSON object of texts.
	Metadata   string
	Begun      bool
	FinishedAt *time.Time
}

// metadata returns what the experiment says of itself.
func (e *experiment) metadata() (map[string]string, error) {
	said := map[string]string{}
	if err := json.Unmarshal([]byte(e.Metadata), &said); err != nil {
		return nil, fmt.Errorf("read the metadata of experiment %s: %w", e.ID, err)
	}
	return said, nil
}

// grantOf is the permission of the job in a project: whoever sent the spans was allowed to write into it.
func grantOf(project uuid.UUID) access.Grant {
	return access.Grant{Principal: &access.Principal{Key: &access.Key{Name: "Langfuse experiments"}}, Projects: access.OfJob(project)}
}
