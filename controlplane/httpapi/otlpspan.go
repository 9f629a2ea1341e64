package httpapi

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

// otlpSpan is a Span of OTLP/JSON. Times are in Unix nanoseconds.
type otlpSpan struct {
	TraceID      string          `json:"traceId"`
	SpanID       string          `json:"spanId"`
	ParentSpanID string          `json:"parentSpanId,omitempty"`
	Name         string          `json:"name"`
	Kind         int             `json:"kind"`
	Start        string          `json:"startTimeUnixNano"`
	End          string          `json:"endTimeUnixNano,omitempty"`
	Attributes   []otlpAttribute `json:"attributes,omitempty"`
	Events       []otlpEvent     `json:"events,omitempty"`
	Links        []otlpLink      `json:"links,omitempty"`
	Status       *otlpStatus     `json:"status,omitempty"`
}

type otlpEvent struct {
	Time       string          `json:"timeUnixNano"`
	Name       string          `json:"name"`
	Attributes []otlpAttribute `json:"attributes,omitempty"`
}

type otlpLink struct {
	TraceID    string          `json:"traceId"`
	SpanID     string          `json:"spanId"`
	Attributes []otlpAttribute `json:"attributes,omitempty"`
}

type otlpStatus struct {
	Message string `json:"message,omitempty"`
	Code    int    `json:"code"`
}

// Values of OTLP's enums.
const (
	otlpInternal = 1
	otlpClient   = 3
	otlpOK       = 1
	otlpError    = 2
)

// otlpSpanOf returns a span with its own scores and those of its run, if it is the root.
func otlpSpanOf(s *runs.Span, ofRun []runmodel.Score) (*otlpSpan, error) {
	span := &otlpSpan{
		TraceID: hex.EncodeToString(s.RunID[:]), SpanID: runmodel.FormatSpanID(s.SpanID), Name: s.Name, Kind: otlpKindOf(s.EffectiveKind()),
		Start: otlpTime(s.StartTime), Status: otlpStatusOf(&s.Span),
	}
	if s.ParentSpanID != 0 {
		span.ParentSpanID = runmodel.FormatSpanID(s.ParentSpanID)
	}
	if !runmodel.IsAbsent(s.EndTime) {
		span.End = otlpTime(s.EndTime)
	}
	var err error
	if span.Attributes, err = otlpSpanAttributes(s); err != nil {
		return nil, err
	}
	if span.Events, err = otlpEventsOf(s, ofRun); err != nil {
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
		attributes, err := otlpAttributesOf(link.Attributes)
		if err != nil {
			return nil, err
		}
		span.Links = append(span.Links, otlpLink{hex.EncodeToString(link.RunID[:]), link.SpanID, attributes})
	}
	return span, nil
}

// otlpKindOf is what the conventions say of a step. The kind that was sent is not stored.
func otlpKindOf(kind string) int {
	switch kind {
	case runmodel.KindLLM, runmodel.KindEmbedding, runmodel.KindReranker, runmodel.KindRetriever:
		return otlpClient
	}
	return otlpInternal
}

// otlpStatusOf returns nil if the span states no status. A step that was cancelled says so in an attribute, too.
func otlpStatusOf(s *runmodel.Span) *otlpStatus {
	switch {
	case s.Status == runmodel.StatusOK:
		return &otlpStatus{Code: otlpOK}
	case s.Status == runmodel.StatusError, s.Status == runmodel.StatusCancelled && s.ErrorMessage != "":
		return &otlpStatus{s.ErrorMessage, otlpError}
	}
	return nil
}

func otlpTime(t time.Time) string { return strconv.FormatUint(uint64(t.UnixNano()), 10) }

// otlpSpanAttributes leaves out what the span took from its resource.
func otlpSpanAttributes(s *runs.Span) ([]otlpAttribute, error) {
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
	return otlpAttributes(attributes)
}

// otlpAttribute is a KeyValue of OTLP/JSON.
type otlpAttribute struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
}

// otlpValue is an AnyValue of OTLP/JSON. Without a member it is the empty value.
type otlpValue struct {
	String *string   `json:"stringValue,omitempty"`
	Bool   *bool     `json:"boolValue,omitempty"`
	Int    *string   `json:"intValue,omitempty"`
	Double *float64  `json:"doubleValue,omitempty"`
	Array  *otlpList `json:"arrayValue,omitempty"`
	KVList *otlpMap  `json:"kvlistValue,omitempty"`
}

type otlpList struct {
	Values []otlpValue `json:"values"`
}

type otlpMap struct {
	Values []otlpAttribute `json:"values"`
}

func otlpString(text string) otlpValue { return otlpValue{String: &text} }

func otlpBool(b bool) otlpValue { return otlpValue{Bool: &b} }

func otlpDouble(number float64) otlpValue { return otlpValue{Double: &number} }

// otlpAttributesOf converts the text of a JSON object, or none.
func otlpAttributesOf(text json.RawMessage) ([]otlpAttribute, error) {
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
	return otlpAttributes(attributes)
}

// otlpAttributes converts attributes, in the order of their keys.
func otlpAttributes(attributes map[string]any) ([]otlpAttribute, error) {
	list := make([]otlpAttribute, 0, len(attributes))
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		value, err := otlpValueOf(attributes[key])
		if err != nil {
			return nil, fmt.Errorf("write attribute %s: %w", key, err)
		}
		list = append(list, otlpAttribute{key, value})
	}
	return list, nil
}

func otlpValueOf(value any) (otlpValue, error) {
	switch v := value.(type) {
	case nil:
		return otlpValue{}, nil
	case string:
		return otlpString(v), nil
	case bool:
		return otlpBool(v), nil
	case int64:
		text := strconv.FormatInt(v, 10)
		return otlpValue{Int: &text}, nil
	case float64:
		return otlpDouble(v), nil
	case json.Number:
		return otlpNumber(v)
	case json.RawMessage:
		decoded, err := decodeNumbers(v)
		if err != nil {
			return otlpValue{}, err
		}
		return otlpValueOf(decoded)
	case []string:
		list := make([]otlpValue, len(v))
		for i, text := range v {
			list[i] = otlpString(text)
		}
		return otlpValue{Array: &otlpList{list}}, nil
	case []any:
		list := make([]otlpValue, len(v))
		for i, element := range v {
			var err error
			if list[i], err = otlpValueOf(element); err != nil {
				return otlpValue{}, err
			}
		}
		return otlpValue{Array: &otlpList{list}}, nil
	case map[string]any:
		members, err := otlpAttributes(v)
		return otlpValue{KVList: &otlpMap{members}}, err
	default:
		return otlpValue{}, fmt.Errorf("a value is a %T", value)
	}
}

// otlpNumber returns an integer if the number is one of 64 bits. JSON text does not tell 1.0 from 1.
func otlpNumber(number json.Number) (otlpValue, error) {
	if n, err := number.Int64(); err == nil {
		return otlpValueOf(n)
	}
	double, err := number.Float64()
	if err != nil {
		return otlpValue{}, fmt.Errorf("read a number: %w", err)
	}
	return otlpDouble(double), nil
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
