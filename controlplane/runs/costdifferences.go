package runs

import (
	"context"
	"time"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// CostDifference is how a client's costs of a model differ from those that its tokens have by the prices.
type CostDifference struct {
	// Client is the framework, else the service, and Version the service's version.
	Client   string    `ch:"client"`
	Version  string    `ch:"version"`
	Model    string    `ch:"model"`
	Spans    uint64    `ch:"spans"`
	Sent     float64   `ch:"sent"`
	Computed float64   `ch:"computed"`
	LastSeen time.Time `ch:"last_seen"`
}

// maxCostDifferences is how many differences are listed. Clients choose their names.
const maxCostDifferences = 200

// CostDifferences lists the clients of spans that started at since or later whose costs differ from the computed ones by more than rounding,
// the largest difference first.
func (s *Service) CostDifferences(ctx context.Context, projects access.Projects, since time.Time) ([]CostDifference, error) {
	w := inProjects()
	w.hours(since, s.now().Add(time.Hour))
	w.add("cost_source = ? AND attributes_json[?] != ''", runmodel.CostSent, runmodel.KeyComputedCostUSD)
	var differences []CostDifference
	args := append([]any{runmodel.KeyComputedCostUSD}, w.args...)
	err := query(ctx, s.conn, projects, &differences, `
		SELECT substring(if(framework != '', framework, service_name), 1, 1025) AS client, substring(release, 1, 1025) AS version,
			substring(if(response_model != '', response_model, request_model), 1, 1025) AS model, count() AS spans,
			sum(assumeNotNull(cost_usd)) AS sent, sum(toFloat64OrZero(attributes_json[?])) AS computed, max(start_time) AS last_seen
		FROM spans WHERE `+w.String()+`
		GROUP BY client, version, model
		ORDER BY abs(sent - computed) DESC, client, version, model LIMIT ?`, append(args, maxCostDifferences)...)
	return differences, err
}
