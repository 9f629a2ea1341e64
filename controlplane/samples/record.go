package samples

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/runmodel"
)

const (
	// gap is the time between steps.
	gap = 15 * time.Millisecond
	// shop is what the prompt's variable of this name has.
	shop = "Northwind Outdoor"
	// slowest is the most that a run takes longer than its scenario says.
	slowest = 2
	// users is how many people the runs are for.
	users = 24
)

// recorder makes runs of scenarios. Its random numbers are the same each time, so that the samples always have the same shape.
type recorder struct {
	now    time.Time
	random *rand.Rand
	prompt *Prompt
	runs   []any
	spans  []any
	cases  map[string]recorded
	// thread is the id of the last conversation, and threadEnd when its last run ended. threadUser is whose it is.
	thread, threadUser string
	threadEnd          time.Time
}

// recorded is a run of which a dataset has an item.
type recorded struct {
	id              uuid.UUID
	inputs, outputs json.RawMessage
}

func newRecorder(now time.Time, prompt *Prompt) *recorder {
	const seed = 20417
	return &recorder{now: now.UTC(), random: rand.New(rand.NewPCG(seed, seed)), prompt: prompt, cases: map[string]recorded{}} //nolint:gosec // no secret
}

// record adds the run of a scenario.
func (r *recorder) record(s *scenario) error {
	id := uuid.New()
	run := &recording{recorder: r, id: id, pace: min(slowest, 0.7+0.6*r.random.Float64()+0.8*r.random.ExpFloat64()*r.random.Float64()), size: 0.8 + 0.5*r.random.Float64()}
	start := r.startOf(s)
	user := fmt.Sprintf("user-%d", 1001+r.random.IntN(users))
	if s.turn > 1 {
		start, user = r.threadEnd.Add(time.Duration(20+r.random.IntN(90))*time.Second), r.threadUser
	}
	age := r.now.Sub(start)
	fields := map[string]any{
		"run_id": id, "name": s.Name, "kind": s.Kind, "start_time": start, "inputs": s.Inputs, "tags": s.Tags, "user_id": user,
		"environment": "production", "release": releaseOf(age), "metadata": map[string]any{"sample": true},
	}
	if s.Prompt {
		version, alias := r.versionOf(age, fields)
		fields["prompt"] = map[string]any{"name": r.prompt.Name, "version": version, "alias": alias}
		run.system, run.version = r.systemOf(version), version
	}
	end, err := run.steps(start, "", jsontext.String(s.Inputs), s.Steps, false)
	if err != nil {
		return err
	}
	fields["end_time"] = end
	if s.Outputs != nil {
		fields["outputs"] = s.Outputs
	}
	fields["status"] = statusOf(s.Status, s.Error)
	if s.Error != nil {
		fields["error"] = s.Error
	}
	if scores := r.scoresOf(s.Scores); len(scores) > 0 {
		fields["attributes"] = map[string]any{runmodel.KeyScores: scores}
	}
	if s.turn == 1 {
		r.thread, r.threadUser = "conversation-"+id.String()[:8], user
	}
	if s.turn > 0 {
		fields["session_id"], r.threadEnd = r.thread, end
	}
	if s.id != "" {
		r.cases[s.id] = recorded{id, s.Inputs, s.Outputs}
	}
	r.runs, r.spans = append(r.runs, fields), append(r.spans, run.spans...)
	return nil
}

// startOf returns when the run of a scenario starts: more often on working days, in working hours, and in the last two hours.
func (r *recorder) startOf(s *scenario) time.Time {
	const (
		days      = 7
		recentDay = 0.35 // of the runs are of the last day
	)
	// It has ended, with what follows in its conversation.
	soonest := 2*time.Minute + time.Duration(slowest*seconds(s.Steps)*float64(time.Second))
	if s.thread > 0 {
		soonest += 10 * time.Minute
	}
	oldest := s.NewestDays
	if oldest == 0 {
		oldest = days
	}
	if r.random.Float64() < recentDay {
		oldest = min(oldest, 1)
	}
	span := time.Duration(oldest*24*float64(time.Hour)) - soonest
	for {
		at := r.now.Add(-soonest - time.Duration(r.random.Float64()*float64(span)))
		if r.now.Sub(at) < 2*time.Hour || r.random.Float64() < busyness(at) {
			return at.Truncate(time.Millisecond)
		}
	}
}

// seconds returns how long steps take in all.
func seconds(steps []step) (sum float64) {
	for i := range steps {
		sum += steps[i].Seconds + seconds(steps[i].Steps)
	}
	return sum
}

// busyness is how many runs start at a time, from 0 to 1.
func busyness(at time.Time) float64 {
	busy := 0.25
	if hour := at.Hour(); hour >= 7 && hour < 19 {
		busy = 1
	}
	if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
		busy *= 0.5
	}
	return busy
}

func releaseOf(age time.Duration) string {
	if age > 60*time.Hour {
		return "2.3.1"
	}
	return "2.4.0"
}

// versionOf returns the version of the prompt that a run used. A few runs are of staging, which has the newest one.
func (r *recorder) versionOf(age time.Duration, fields map[string]any) (version int, alias string) {
	switch {
	case age < 72*time.Hour && r.random.Float64() < 0.25:
		fields["environment"] = "staging"
		return r.prompt.Aliases["staging"], "staging"
	case age > 100*time.Hour:
		return 1, "production"
	default:
		return r.prompt.Aliases["production"], "production"
	}
}

func (r *recorder) systemOf(version int) string {
	var message struct{ Content string }
	if err := json.Unmarshal(r.prompt.Versions[version-1].Messages[0], &message); err != nil {
		panic(err) // TestNew reads all versions
	}
	return strings.ReplaceAll(message.Content, "{{shop}}", shop)
}

// scoresOf returns the scores of a run as [runmodel.KeyScores] has them.
func (r *recorder) scoresOf(scores []score) (list []string) {
	for _, s := range scores {
		if r.random.Float64() >= s.Share {
			continue
		}
		value := map[string]any{"name": s.Name}
		switch x := s.Value.(type) {
		case nil:
			value["label"] = s.Label
		case float64:
			value["value"] = float64(int(100*min(1, x+0.12*(r.random.Float64()-0.5)))) / 100
		default:
			value["value"] = x
		}
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // strings and numbers
		}
		list = append(list, string(text))
	}
	return list
}

func statusOf(status string, err *failure) string {
	switch {
	case status != "":
		return status
	case err != nil:
		return runmodel.StatusError
	default:
		return runmodel.StatusOK
	}
}
