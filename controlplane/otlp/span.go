package otlp

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// span is a Span of OTLP/JSON. Times are in Unix nanoseconds.
type span struct {
	TraceID      string      `json:"traceId"`
	SpanID       string      `json:"spanId"`
	ParentSpanID string      `json:"parentSpanId,omitempty"`
	Name         string      `json:"name"`
	Kind         int         `json:"kind"`
	Start        string      `json:"startTimeUnixNano"`
	End          string      `json:"endTimeUnixNano,omitempty"`
	Attributes   []keyValue  `json:"attributes,omitempty"`
	Events       []spanEvent `json:"events,omitempty"`
	Links        []spanLink  `json:"links,omitempty"`
	Status       *status     `json:"status,omitempty"`
}

type spanEvent struct {
	Time       string     `json:"timeUnixNano"`
	Name       string     `json:"name"`
	Attributes []keyValue `json:"attributes,omitempty"`
}

type spanLink struct {
	TraceID    string     `json:"traceId"`
	SpanID     string     `json:"spanId"`
	Attributes []keyValue `json:"attributes,omitempty"`
}

type status struct {
	Message string `json:"message,omitempty"`
	Code    int    `json:"code"`
}

// Values of OTLP's enums.
const (
	kindInternal = 1
	kindClient   = 3
	statusOK     = 1
	statusError  = 2
)

// spanOf returns a span with its own scores and those of its run, if it is the root.
func spanOf(s *runs.Span, ofRun []runmodel.Score) (*span, error) {
	span := &span{
		TraceID: hex.EncodeToString(s.RunID[:]), SpanID: runmodel.FormatSpanID(s.SpanID), Name: s.Name, Kind: kindOf(s.EffectiveKind()),
		Start: timeOf(s.StartTime), Status: statusOf(&s.Span),
	}
	if s.ParentSpanID != 0 {
		span.ParentSpanID = runmodel.FormatSpanID(s.ParentSpanID)
	}
	if !runmodel.IsAbsent(s.EndTime) {
		span.End = timeOf(s.EndTime)
	}
	var err error
	if span.Attributes, err = spanAttributes(s); err != nil {
		return nil, err
	}
	if span.Events, err = eventsOf(s, ofRun); err != nil {
		return nil, err
	}
	var links []struct {
		RunID      uuid.UUID       `json:"run_id"`
		SpanID     string          `json:"span_id"`
		Attributes json.RawMessage `json:"attributes"`
	}
	if s.Span.Links != "" {
		if err := json.Unmarshal([]byte(s.Span.Links), &links); err != nil {
			return nil, fmt.Errorf("read links: %w", err)
		}
	}
	for _, link := range links {
		attributes, err := keyValuesOf(link.Attributes)
		if err != nil {
			return nil, err
		}
		span.Links = append(span.Links, spanLink{hex.EncodeToString(link.RunID[:]), link.SpanID, attributes})
	}
	return span, nil
}

// kindOf is what the conventions say of a step. The kind that was sent is not stored.
func kindOf(kind string) int {
	switch kind {
	case runmodel.KindLLM, runmodel.KindEmbedding, runmodel.KindReranker, runmodel.KindRetriever:
		return kindClient
	}
	return kindInternal
}

// statusOf returns nil if the span states no status. A step that was cancelled says so in an attribute, too.
func statusOf(s *runmodel.Span) *status {
	switch {
	case s.Status == runmodel.StatusOK:
		return &status{Code: statusOK}
	case s.Status == runmodel.StatusError, s.Status == runmodel.StatusCancelled && s.ErrorMessage != "":
		return &status{s.ErrorMessage, statusError}
	}
	return nil
}

func timeOf(t time.Time) string { return strconv.FormatUint(uint64(t.UnixNano()), 10) }

// spanAttributes leaves out what the span took from its resource.
func spanAttributes(s *runs.Span) ([]keyValue, error) {
	attributes := s.StoredAttributes()
	for key, value := range s.ResourceAttributes {
		if text, ok := value.(string); ok && attributes[key] == any(text) && s.Span.Attributes[key] == "" {
			delete(attributes, key)
		}
	}
	for _, content := range []struct {
		key   string
		parts []json.RawMessage
	}{
		{runmodel.KeyInputMessages, s.InputMessages},
		{runmodel.KeyOutputMessages, s.OutputMessages},
		{runmodel.KeySystemInstructions, s.SystemInstructions},
		{runmodel.KeyToolDefinitions, s.ToolDefinitions},
	} {
		if len(content.parts) > 0 { // the conventions have them as JSON text where attributes have no structure
			texts := make([]string, len(content.parts))
			for i, part := range content.parts {
				texts[i] = string(part)
			}
			attributes[content.key] = "[" + strings.Join(texts, ",") + "]"
		}
	}
	return keyValues(attributes)
}

// keyValue is a KeyValue of OTLP/JSON.
type keyValue struct {
	Key   string   `json:"key"`
	Value anyValue `json:"value"`
}

// anyValue is an AnyValue of OTLP/JSON. Without a member it is the empty value.
type anyValue struct {
	String *string     `json:"stringValue,omitempty"`
	Bool   *bool       `json:"boolValue,omitempty"`
	Int    *string     `json:"intValue,omitempty"`
	Double *float64    `json:"doubleValue,omitempty"`
	Array  *arrayValue `json:"arrayValue,omitempty"`
	KVList *kvList     `json:"kvlistValue,omitempty"`
}

type arrayValue struct {
	Values []anyValue `json:"values"`
}

type kvList struct {
	Values []keyValue `json:"values"`
}

func stringValue(text string) anyValue { return anyValue{String: &text} }

func boolValue(b bool) anyValue { return anyValue{Bool: &b} }

func doubleValue(number float64) anyValue { return anyValue{Double: &number} }

// keyValuesOf converts the text of a JSON object, or none.
func keyValuesOf(text json.RawMessage) ([]keyValue, error) {
	if len(text) == 0 {
		return nil, nil
	}
	value, err := decodeNumbers(text)
	if err != nil {
		return nil, err
	}
	attributes, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("attributes are no object: %.100s", text)
	}
	return keyValues(attributes)
}

// keyValues converts attributes, in the order of their keys.
func keyValues(attributes map[string]any) ([]keyValue, error) {
	list := make([]keyValue, 0, len(attributes))
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		value, err := valueOf(attributes[key])
		if err != nil {
			return nil, fmt.Errorf("write attribute %s: %w", key, err)
		}
		list = append(list, keyValue{key, value})
	}
	return list, nil
}

func valueOf(value any) (anyValue, error) {
	switch v := value.(type) {
	case nil:
		return anyValue{}, nil
	case string:
		return stringValue(v), nil
	case bool:
		return boolValue(v), nil
	case int64:
		text := strconv.FormatInt(v, 10)
		return anyValue{Int: &text}, nil
	case float64:
		return doubleValue(v), nil
	case json.Number:
		return numberValue(v)
	case json.RawMessage:
		decoded, err := decodeNumbers(v)
		if err != nil {
			return anyValue{}, err
		}
		return valueOf(decoded)
	case []string:
		list := make([]anyValue, len(v))
		for i, text := range v {
			list[i] = stringValue(text)
		}
		return anyValue{Array: &arrayValue{list}}, nil
	case []any:
		list := make([]anyValue, len(v))
		for i, element := range v {
			var err error
			if list[i], err = valueOf(element); err != nil {
				return anyValue{}, err
			}
		}
		return anyValue{Array: &arrayValue{list}}, nil
	case map[string]any:
		members, err := keyValues(v)
		return anyValue{KVList: &kvList{members}}, err
	default:
		return anyValue{}, fmt.Errorf("a value is a %T", value)
	}
}

// numberValue returns an integer if the number is one of 64 bits. JSON text does not tell 1.0 from 1.
func numberValue(number json.Number) (anyValue, error) {
	if n, err := number.Int64(); err == nil {
		return valueOf(n)
	}
	double, err := number.Float64()
	if err != nil {
		return anyValue{}, fmt.Errorf("read a number: %w", err)
	}
	return doubleValue(double), nil
}

// decodeNumbers decodes JSON and keeps all digits of its numbers.
func decodeNumbers(text json.RawMessage) (value any, err error) {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	return value, nil
}
