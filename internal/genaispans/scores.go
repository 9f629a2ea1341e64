package genaispans

import (
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// score is a result of an evaluation. Empty fields are not known.
type score struct {
	name string
	// value is a JSON number, true or false.
	value              string
	label, explanation string
	responseID, id     string
	// source is runmodel.ScoreHuman for a person's judgment. of is the judged span if it is not this one.
	source, of string
	// exportedID and createdAt are those of a score that Looptrace exported.
	exportedID, createdAt string
}

// addScore adds a score to the span, unless it is empty or a duplicate.
func (x *span) addScore(s score) {
	if s.name == "" || s.value == "" && s.label == "" && s.explanation == "" {
		return
	}
	b := appendString([]byte(`{"name":`), s.name)
	if s.value != "" {
		b = append(b, `,"value":`...)
		b = append(b, s.value...)
	}
	for _, text := range [...]member{
		{"label", s.label},
		{"explanation", s.explanation},
		{"response_id", s.responseID},
		{"id", s.id},
		{"source", s.source},
		{"of", s.of},
		{"exported_id", s.exportedID},
		{"created_at", s.createdAt},
	} {
		if text.value != "" {
			b = append(b, ',')
			b = append(appendString(b, text.key), ':')
			b = appendString(b, text.value)
		}
	}
	b = append(b, '}')
	scores, ok := x.attrs.Get(runmodel.KeyScores)
	if !ok || scores.Type() != pcommon.ValueTypeSlice {
		scores = x.attrs.PutEmpty(runmodel.KeyScores)
		scores.SetEmptySlice()
	}
	for _, other := range scores.Slice().All() {
		if other.Str() == string(b) {
			return
		}
	}
	scores.Slice().AppendEmpty().SetStr(string(b))
}

// scoreValue returns the value of a score as JSON, "" if it is neither a number nor a Boolean.
func scoreValue(text string) string {
	if text == "true" || text == "false" {
		return text
	}
	if value, ok := parseNumber(text); ok {
		return strconv.FormatFloat(value, 'g', -1, 64)
	}
	return ""
}

// evaluationEvent reads gen_ai.evaluation.result of the conventions, and what an export of Looptrace adds to it.
func (x *span) evaluationEvent(e *eventReader) { x.addScore(scoreOfEvent(e)) }

func scoreOfEvent(e *eventReader) score {
	s := score{
		name: e.plain(runmodel.KeyEvaluationName), value: scoreValue(e.plain(runmodel.KeyEvaluationValue)),
		label: e.plain(runmodel.KeyEvaluationLabel), explanation: e.plain(runmodel.KeyEvaluationExplanation),
		responseID: e.plain(runmodel.KeyResponseID), id: e.plain(runmodel.KeyAnnotationID),
	}
	if e.plain(runmodel.KeyAnnotatorKind) == runmodel.AnnotatorHuman {
		s.source = runmodel.ScoreHuman
	}
	if e.plain(runmodel.KeyScoreOf) == runmodel.ScoreOfRun {
		s.of = runmodel.ScoreOfRun
	}
	if e.plain(runmodel.KeyScoreKind) == runmodel.ScoreBoolean && (s.value == "0" || s.value == "1") {
		s.value = strconv.FormatBool(s.value == "1")
		if s.label == s.value { // it only says so in words
			s.label = ""
		}
	}
	return s
}

// isExported reports whether an export of Looptrace wrote the spans of a scope.
func isExported(scope pcommon.InstrumentationScope) bool {
	v, ok := scope.Attributes().Get(runmodel.KeyExported)
	return ok && v.Type() == pcommon.ValueTypeBool && v.Bool()
}

// exportedScores reads the scores of a span that Looptrace exported. The span was mapped before that. Mapping it again would add scores
// twice and count cached tokens twice.
func (x *span) exportedScores(s ptrace.Span) {
	x.attrs = s.Attributes()
	for _, event := range s.Events().All() {
		if event.Name() != runmodel.EventEvaluation {
			continue
		}
		found := scoreOfEvent(&eventReader{name: event.Name(), attrs: event.Attributes()})
		found.exportedID, found.id = found.id, ""
		if at := event.Timestamp(); at > 0 {
			found.createdAt = strconv.FormatUint(uint64(at), 10)
		}
		x.addScore(found)
	}
}

// langWatchEvent reads the event of LangWatch's add_evaluation (langwatch/evaluation/__init__.py).
func (x *span) langWatchEvent(e *eventReader) {
	o, ok := parseObject(e.plain("json_encoded_event"))
	if !ok || o.get("status") != "" && o.str("status") != "processed" {
		return
	}
	s := score{
		name: o.str("name"), value: scoreValue(o.get("score")), label: o.str("label"), explanation: o.str("details"),
		id: o.str("evaluation_id"),
	}
	passed := o.get("passed")
	switch {
	case s.value == "":
		s.value = scoreValue(passed)
	case s.label == "" && passed == "true":
		s.label = "passed"
	case s.label == "" && passed == "false":
		s.label = "failed"
	}
	x.addScore(s)
}

// Prefixes of OpenInference's annotations, which are the same as its evaluations (spec/annotations.md). Annotations
// of a session are not mapped: they do not belong to one run.
const (
	formOfSpan = iota
	formOfTrace
)

var scoreForms = [...]struct {
	prefix, field string
	form          int
}{
	{"annotations.", "annotation.", formOfSpan},
	{"evaluations.", "evaluation.", formOfSpan},
	{"trace.annotations.", "annotation.", formOfTrace},
	{"trace.evaluations.", "evaluation.", formOfTrace},
}

// indexedKeyOfScore parses the key of an annotation. Each prefix has its own indices.
func indexedKeyOfScore(key string) indexedKey {
	if key == "" || key[0] != 'a' && key[0] != 'e' && key[0] != 't' {
		return indexedKey{}
	}
	for i, form := range scoreForms {
		rest := key
		if !cut(&rest, form.prefix) {
			continue
		}
		index, rest, ok := cutIndex(rest)
		if ok && cut(&rest, form.field) {
			return indexedKey{flatScore, i*maxSlots + index, rest}
		}
	}
	return indexedKey{}
}

// openInferenceScores reads annotations and evaluations, and the results of Phoenix's evaluators, which are the
// output of a span of their own (phoenix/evals/evaluators.py).
func (x *span) openInferenceScores() {
	groups(x.flat.scores, func(group []entry) {
		var s score
		if scoreForms[group[0].index/maxSlots].form == formOfTrace {
			s.of = runmodel.ScoreOfRun
		}
		for _, e := range group {
			text := valueText(e.value)
			switch e.rest {
			case "name":
				s.name = text
			case "score":
				s.value = scoreValue(text)
			case "label":
				s.label = text
			case "explanation":
				s.explanation = text
			case "identifier":
				s.id = text
			case "annotator_kind":
				if text == "HUMAN" {
					s.source = runmodel.ScoreHuman
				}
			}
		}
		x.addScore(s)
	})
	if x.kind != runmodel.KindEvaluator {
		return
	}
	results, _ := parseArray(x.str("output.value"))
	for _, result := range results {
		if o, ok := parseObject(result); ok {
			s := score{name: o.str("name"), value: scoreValue(o.get("score")), label: o.str("label"), explanation: o.str("explanation")}
			if o.str("kind") == "human" {
				s.source = runmodel.ScoreHuman
			}
			x.addScore(s)
		}
	}
}

// logfireScores reads Logfire's feedback, which is a child of the span that it judges (logfire/experimental/
// annotations.py), and the results of Pydantic Evals (pydantic_evals/dataset.py), {NAME: {value, reason}}.
func (x *span) logfireScores() {
	if name := x.str("logfire.feedback.name"); name != "" {
		if value, ok := x.attrs.Get(name); ok {
			text := valueText(value)
			s := score{name: name, value: scoreValue(text), explanation: x.str("logfire.feedback.comment"), of: runmodel.ScoreOfParent}
			if s.value == "" {
				s.label = text
			}
			x.addScore(s)
		}
	}
	if !strings.HasPrefix(x.scope.name, "pydantic-evals") {
		return
	}
	for _, key := range [...]string{"assertions", "scores", "labels"} {
		results, _ := parseObject(x.jsonAt(key))
		for _, result := range results {
			o, ok := parseObject(result.value)
			if !ok {
				continue
			}
			s := score{name: firstOf(o.str("name"), result.key), value: scoreValue(o.get("value")), explanation: o.str("reason")}
			if key == "labels" {
				s.value, s.label = "", o.plain("value")
			}
			x.addScore(s)
		}
	}
}
