package otlp

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// storedEvent is a runmodel.Event whose numbers keep all their digits.
type storedEvent struct {
	Name       string         `json:"name"`
	Time       time.Time      `json:"time"`
	Attributes map[string]any `json:"attributes"`
}

// eventsOf returns the events of a span and an event for each score. An event that became a score is not repeated: its score may have
// been changed or deleted since. Where the score is still as it came, it keeps the event's time and other attributes.
func eventsOf(s *runs.Span, ofRun []runmodel.Score) ([]spanEvent, error) {
	events, err := storedEvents(s.Span.Events)
	if err != nil {
		return nil, err
	}
	list := make([]spanEvent, 0, len(events)+len(s.Scores)+len(ofRun))
	var sources scoreSources
	for i := range events {
		if sources.add(s.RunID, &events[i]) {
			continue
		}
		attributes, err := keyValues(events[i].Attributes)
		if err != nil {
			return nil, err
		}
		list = append(list, spanEvent{timeOf(events[i].Time), events[i].Name, attributes})
	}
	for _, scores := range [][]runmodel.Score{ofRun, s.Scores} {
		for i := range scores {
			event, err := score(&scores[i], sources.take(&scores[i]))
			if err != nil {
				return nil, err
			}
			list = append(list, event)
		}
	}
	return list, nil
}

// scoreSources are the events of a span that became scores.
type scoreSources struct {
	// byID are those of an import. The ids of others cannot be told from the event alone.
	byID      map[uuid.UUID]*storedEvent
	byContent map[eventOfScore][]*storedEvent
}

// add returns false if the event did not become a score.
func (c *scoreSources) add(runID uuid.UUID, event *storedEvent) bool {
	of, ok := scoreInEvent(event)
	if !ok || event.Name != runmodel.EventEvaluation {
		return false
	}
	if c.byContent == nil {
		c.byID, c.byContent = map[uuid.UUID]*storedEvent{}, map[eventOfScore][]*storedEvent{}
	}
	if id, err := uuid.Parse(plainText(event.Attributes[runmodel.KeyAnnotationID])); err == nil {
		c.byID[runmodel.ExportedScoreID(runID, id)] = event
	} else {
		c.byContent[of] = append(c.byContent[of], event)
	}
	return true
}

// take returns the event that a score came as, or one that has only its time.
func (c *scoreSources) take(s *runmodel.Score) *storedEvent {
	if s.AuthorKind == "" {
		if event := c.byID[s.ScoreID]; event != nil {
			return event
		}
		of := eventOf(s)
		if events := c.byContent[of]; len(events) > 0 {
			c.byContent[of] = events[1:]
			return events[0]
		}
	}
	return &storedEvent{Time: s.CreatedAt}
}

func storedEvents(text string) (events []storedEvent, err error) {
	if text == "" {
		return nil, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&events); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return events, nil
}

// scoreKeys are the attributes that score writes.
var scoreKeys = []string{
	runmodel.KeyEvaluationName, runmodel.KeyEvaluationValue, runmodel.KeyEvaluationLabel, runmodel.KeyEvaluationExplanation,
	runmodel.KeyAnnotationID, runmodel.KeyAnnotatorKind, runmodel.KeyScoreOf, runmodel.KeyScoreKind,
}

// score returns the event gen_ai.evaluation.result for a score, with the time and the further attributes of the event that it came as.
func score(s *runmodel.Score, source *storedEvent) (spanEvent, error) {
	attributes := map[string]any{}
	maps.Copy(attributes, source.Attributes)
	for _, key := range scoreKeys {
		delete(attributes, key)
	}
	attributes[runmodel.KeyEvaluationName] = s.Name
	attributes[runmodel.KeyAnnotationID] = s.ScoreID.String()
	label := s.Label
	switch value := s.Value().(type) {
	case float64:
		attributes[runmodel.KeyEvaluationValue] = value
	case bool:
		attributes[runmodel.KeyScoreKind] = runmodel.ScoreBoolean
		attributes[runmodel.KeyEvaluationValue] = *s.Number
		if label == "" {
			label = strconv.FormatBool(value)
		}
	}
	if label != "" {
		attributes[runmodel.KeyEvaluationLabel] = label
	}
	if s.Comment != "" {
		attributes[runmodel.KeyEvaluationExplanation] = s.Comment
	}
	if s.Source == runmodel.ScoreHuman {
		attributes[runmodel.KeyAnnotatorKind] = runmodel.AnnotatorHuman
	}
	if s.SpanID == 0 {
		attributes[runmodel.KeyScoreOf] = runmodel.ScoreOfRun
	}
	list, err := keyValues(attributes)
	return spanEvent{timeOf(source.Time), runmodel.EventEvaluation, list}, err
}

// eventOfScore is what a score and the event that it came as have in common.
type eventOfScore struct{ name, value, label, explanation string }

func eventOf(s *runmodel.Score) eventOfScore {
	of := eventOfScore{name: s.Name, label: s.Label, explanation: s.Comment}
	if s.ValueKind != runmodel.ScoreCategory && s.Number != nil {
		of.value = strconv.FormatFloat(*s.Number, 'g', -1, 64)
	}
	return of
}

// scoreInEvent returns false if the event says nothing that is a score: an evaluation that failed.
func scoreInEvent(event *storedEvent) (of eventOfScore, ok bool) {
	of.name = plainText(event.Attributes[runmodel.KeyEvaluationName])
	of.label = plainText(event.Attributes[runmodel.KeyEvaluationLabel])
	of.explanation = plainText(event.Attributes[runmodel.KeyEvaluationExplanation])
	switch value := plainText(event.Attributes[runmodel.KeyEvaluationValue]); value {
	case "false":
		of.value = "0"
	case "true":
		of.value = "1"
	default:
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			of.value = strconv.FormatFloat(number, 'g', -1, 64)
		}
	}
	if event.Attributes[runmodel.KeyScoreKind] == runmodel.ScoreBoolean && of.label == strconv.FormatBool(of.value == "1") {
		of.label = ""
	}
	return of, of.name != "" && (of.value != "" || of.label != "" || of.explanation != "")
}

func plainText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}
