package experiments

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/start"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// Limits of what is taken over. Longer names are cut, more scores and metadata left out.
const (
	maxName          = 200
	maxScoreName     = 100
	maxReason        = 2000
	maxScores        = 50
	maxMetadata      = 40
	maxMetadataValue = 2000
	maxKey           = 256
)

// Why a result is not used.
const (
	unusedTooLarge   = "too_large"
	unusedNoItem     = "no_item_id"
	unusedSecond     = "second_result_of_item"
	unusedTooMany    = "too_many_items"
	unusedMisfit     = "does_not_fit_schema"
	unusedRefused    = "refused_by_dataset"
	unusedChanged    = "dataset_changed"
	unusedEnded      = "eval_run_ended"
	unusedDeletedRun = "eval_run_deleted"
)

// taskSpan is the span that has the task alone. Other roots of items may have evaluators in them.
const taskSpan = "experiment-item-task"

// result is what a span reports of an item of an experiment.
type result struct {
	runID      uuid.UUID
	spanID     uint64
	externalID string
	// name is that of the eval-run, and set says where the items are from: a dataset of Langfuse, or data of the experiments of a name.
	name, set string
	metadata  map[string]string
	key       string
	// input, reference and itemMetadata are JSON.
	input, reference, itemMetadata json.RawMessage
	// unused is why it is not used, or empty.
	unused string
	result start.Result
}

// resultsOf returns the results that runs report, by experiment, each in the order in which the items began.
func resultsOf(found []runs.ExperimentRun) map[string][]*result {
	type started struct {
		at time.Time
		*result
	}
	byExperiment := map[string][]started{}
	for i := range found {
		run := &found[i]
		roots := map[string]*result{}
		for j := range run.Spans {
			span := &run.Spans[j]
			if id := spanID(span.SpanID); strings.EqualFold(span.Attributes[runs.ExperimentItemRoot], id) && span.EndTime.After(time.Unix(0, 0)) {
				root := rootResult(span, run.Cut)
				roots[id] = root
				byExperiment[root.externalID] = append(byExperiment[root.externalID], started{span.StartTime, root})
			}
		}
		for j := range run.Spans {
			span := &run.Spans[j]
			root := roots[strings.ToLower(span.Attributes[runs.ExperimentItemRoot])]
			if root != nil && span.Attributes[runs.EvaluatorKind] != "" && root.result.ErrorCode == "" {
				root.result.Scores = addScores(root.result.Scores, span)
			}
		}
	}
	results := make(map[string][]*result, len(byExperiment))
	for id, list := range byExperiment {
		slices.SortStableFunc(list, func(a, b started) int {
			return cmp.Or(a.at.Compare(b.at), bytes.Compare(a.runID[:], b.runID[:]), cmp.Compare(a.spanID, b.spanID))
		})
		for _, one := range list {
			results[id] = append(results[id], one.result)
		}
	}
	return results
}

// startedName is the name that SDKs give to a run of an experiment unless the caller names it: that of the experiment, and the time of its
// start. It is unique.
var startedName = regexp.MustCompile(`^(.+) - \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$`)

func spanID(id uint64) string { return fmt.Sprintf("%016x", id) }

// rootResult returns what the root of an item reports.
func rootResult(span *runmodel.Span, cut bool) *result {
	attrs := span.Attributes
	r := &result{
		runID: span.RunID, spanID: span.SpanID, externalID: short(attrs[runs.ExperimentID]), key: attrs[runs.ExperimentItemID],
		input: valueOf(span.Inputs), reference: json.RawMessage("null"), itemMetadata: json.RawMessage("{}"),
		result: start.Result{Repeat: 1, RunID: &span.RunID},
	}
	runName := line(attrs[runs.ExperimentPrefix+"name"], maxName)
	started := startedName.FindStringSubmatch(runName)
	base := line(unquoted(attrs[runs.BaseName]), maxName)
	if base == "" && started != nil { // SDKs for Python before 4.18 do not say it of items that failed
		base = started[1]
	}
	r.name = cmp.Or(base, runName, "Langfuse experiment")
	dataset := line(attrs[runs.ExperimentPrefix+"dataset.id"], maxName)
	if r.set = dataset; dataset == "" {
		r.set = r.name
		if started != nil { // SDKs for Python before 4.2 give each item of local data another id
			r.externalID = "name:" + short(runName)
		}
	}
	r.metadata = metadataOf(attrs, map[string]string{
		"langfuse.experiment_id": line(attrs[runs.ExperimentID], maxName), "langfuse.experiment": runName,
		"langfuse.description": line(attrs[runs.ExperimentPrefix+"description"], maxMetadataValue), "langfuse.dataset_id": dataset,
	})
	if expected, ok := attrs[runs.ExperimentPrefix+"item.expected_output"]; ok {
		r.reference = valueOf(expected)
	}
	if members := members(attrs, runs.ExperimentPrefix+"item.metadata"); len(members) > 0 {
		if text, err := json.Marshal(members); err == nil && datasetfile.CheckValue(text) == "" {
			r.itemMetadata = text
		}
	}
	if span.Status == runmodel.StatusError {
		r.result.ErrorCode, r.result.ErrorDetail = line(cmp.Or(span.ErrorType, "error"), maxName), utf8text.Storable(span.ErrorMessage)
	} else {
		r.result.Output = valueOf(span.Outputs)
		if span.Outputs == "" {
			r.result.Output = json.RawMessage("null")
		}
	}
	if span.Name == taskSpan {
		r.result.DurationMS = new(float64(span.EndTime.Sub(span.StartTime)) / float64(time.Millisecond))
	}
	large := cut || len(span.Inputs) > runs.MaxExperimentText || len(span.Outputs) > runs.MaxExperimentText
	for key, value := range attrs {
		large = large || len(value) > runs.MaxExperimentText && strings.HasPrefix(key, runs.ExperimentPrefix)
	}
	switch n := len([]rune(r.key)); {
	case n == 0 || n > maxKey || line(r.key, maxKey) != r.key:
		r.unused = unusedNoItem
	case large:
		r.unused = unusedTooLarge
	}
	return r
}

// short returns an id that is at most maxName long: the SDK's own, or a digest of one that no SDK sends.
func short(id string) string {
	if len(id) <= maxName && utf8text.Storable(id) == id {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// line returns a text as one line of at most some characters.
func line(text string, longest int) string {
	runes := []rune(strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, utf8text.Storable(text))))
	return string(runes[:min(len(runes), longest)])
}

// unquoted returns the text of a JSON string, and other texts as they are.
func unquoted(text string) string {
	var inner string
	if json.Unmarshal([]byte(text), &inner) == nil {
		return inner
	}
	return text
}

// valueOf returns as JSON what an SDK sent as text: objects and lists as such, all else as text. The SDKs send the number 42 and the text
// "42" alike.
func valueOf(text string) json.RawMessage {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if raw := json.RawMessage(trimmed); json.Valid(raw) && datasetfile.CheckValue(raw) == "" {
			return raw
		}
	}
	quoted, _ := json.Marshal(utf8text.Storable(text)) // texts always encode
	return quoted
}

// members returns the members of an object, which is the JSON text of one attribute, or has an attribute for each member.
func members(attrs map[string]string, name string) map[string]json.RawMessage {
	found := map[string]json.RawMessage{}
	if text, ok := attrs[name]; ok {
		if value := valueOf(text); json.Unmarshal(value, &found) != nil || found == nil {
			return map[string]json.RawMessage{"metadata": value}
		}
		return found
	}
	for key, value := range attrs {
		if member, ok := strings.CutPrefix(key, name+"."); ok {
			found[utf8text.Storable(member)] = valueOf(value)
		}
	}
	return found
}

// metadataOf adds the metadata of the experiment to facts. Facts without a text are left out.
func metadataOf(attrs, facts map[string]string) map[string]string {
	metadata := map[string]string{}
	for name, text := range facts {
		if text != "" {
			metadata[name] = text
		}
	}
	of := members(attrs, runs.ExperimentPrefix+"metadata")
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if len(metadata) >= maxMetadata {
			break
		}
		key := line(name, maxScoreName)
		if _, known := metadata[key]; known || key == "" {
			continue
		}
		metadata[key] = line(unquoted(string(of[name])), maxMetadataValue)
	}
	return metadata
}

// addScores adds what an evaluator found.
func addScores(scores []evaluations.Score, span *runmodel.Span) []evaluations.Score {
	add := func(score evaluations.Score) {
		score.Name = cmp.Or(line(score.Name, maxScoreName), "score")
		if evaluations.IsMeasured(score.Name) {
			score.Name += " (Langfuse)"
		}
		if len(scores) < maxScores && !slices.ContainsFunc(scores, func(s evaluations.Score) bool { return s.Name == score.Name }) {
			scores = append(scores, score)
		}
	}
	if span.Status == runmodel.StatusError {
		add(evaluations.Score{Name: span.Name, Error: cmp.Or(line(span.ErrorMessage, maxReason), "the evaluator failed")})
		return scores
	}
	var list []struct {
		Name     string          `json:"name"`
		Value    json.RawMessage `json:"value"`
		Comment  string          `json:"comment"`
		DataType string          `json:"data_type"`
	}
	if err := json.Unmarshal([]byte(span.Outputs), &list); err != nil {
		add(evaluations.Score{Name: span.Name, Error: "Looptrace cannot read the evaluations: " + line(err.Error(), maxReason)})
		return scores
	}
	for _, one := range list {
		score := evaluations.Score{Name: one.Name, Reason: line(one.Comment, maxReason)}
		var number float64
		switch value := string(one.Value); {
		case value == "true" || value == "false":
			score.Value, score.Pass = new(map[bool]float64{true: 1}[value == "true"]), new(value == "true")
		case json.Unmarshal(one.Value, &number) == nil && value != "null" && number >= 0 && number <= 1:
			score.Value = &number
			if one.DataType == "BOOLEAN" && (number == 0 || number == 1) {
				score.Pass = new(number == 1)
			}
		default:
			score.Reason = line("Langfuse's value "+value+" is not between 0 and 1. "+score.Reason, maxReason)
		}
		add(score)
	}
	return scores
}
