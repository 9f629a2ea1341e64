package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// exportRequest is OTLP/JSON. It is decoded without the code under test.
type exportRequest struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes keyValues }
		ScopeSpans []struct {
			Scope struct{ Name, Version string }
			Spans []sentSpan
		}
	}
}

type sentSpan struct {
	TraceID      string `json:"traceId"`
	SpanID       string `json:"spanId"`
	ParentSpanID string `json:"parentSpanId"`
	Name         string
	Attributes   keyValues
	Events       []struct{ Name string }
}

func (s *sentSpan) text(key string) string {
	text, _ := s.Attributes[key].(string)
	return text
}

// count returns a token count, nil where the span has none.
func (s *sentSpan) count(key string) *int64 {
	number, ok := s.Attributes[key].(json.Number)
	if !ok {
		return nil
	}
	n, err := number.Int64()
	if err != nil {
		return nil
	}
	return &n
}

// keyValues decodes a list of OTLP attributes into JSON values. Integers are json.Number, doubles float64.
type keyValues map[string]any

func (m *keyValues) UnmarshalJSON(text []byte) error {
	var list []struct {
		Key   string
		Value anyValue
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*m = make(keyValues, len(list))
	for _, attribute := range list {
		(*m)[attribute.Key] = attribute.Value.value
	}
	return nil
}

type anyValue struct{ value any }

func (v *anyValue) UnmarshalJSON(text []byte) error {
	var of struct {
		StringValue *string
		BoolValue   *bool
		IntValue    *json.Number
		DoubleValue json.RawMessage
		BytesValue  *string
		ArrayValue  *struct{ Values []anyValue }
		KvlistValue *struct{ Values keyValues }
	}
	if err := json.Unmarshal(text, &of); err != nil {
		return err
	}
	switch {
	case of.StringValue != nil:
		v.value = *of.StringValue
	case of.BoolValue != nil:
		v.value = *of.BoolValue
	case of.IntValue != nil:
		v.value = *of.IntValue
	case of.DoubleValue != nil:
		return v.readDouble(of.DoubleValue)
	case of.BytesValue != nil:
		v.value = *of.BytesValue
	case of.ArrayValue != nil:
		list := make([]any, len(of.ArrayValue.Values))
		for i, element := range of.ArrayValue.Values {
			list[i] = element.value
		}
		v.value = list
	case of.KvlistValue != nil:
		v.value = map[string]any(of.KvlistValue.Values)
	}
	return nil
}

// readDouble reads a number or its text. NaN and infinities, which JSON does not have, stay text.
func (v *anyValue) readDouble(text []byte) error {
	text = bytes.Trim(text, `"`)
	number, err := strconv.ParseFloat(string(text), 64)
	switch {
	case err != nil:
		return fmt.Errorf("read a double: %w", err)
	case number != number || number > maxJSON || number < -maxJSON:
		v.value = string(text)
	default:
		v.value = number
	}
	return nil
}

const maxJSON = 1.7976931348623157e308

// equal compares a sent value with one that was decoded with json.Number: integers by digits, doubles by value.
func equal(sent, got any) bool {
	switch sent := sent.(type) {
	case float64:
		number, ok := got.(json.Number)
		if !ok {
			return false
		}
		f, err := number.Float64()
		return err == nil && f == sent
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(sent) {
			return false
		}
		for i := range sent {
			if !equal(sent[i], list[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok || len(object) != len(sent) {
			return false
		}
		for key := range sent {
			if !equal(sent[key], object[key]) {
				return false
			}
		}
		return true
	default:
		return sent == got
	}
}

// parsed returns the value of a JSON text, with numbers as json.Number. ok is false if the text is not JSON.
func parsed(text string) (value any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil || decoder.More() {
		return nil, false
	}
	return value, true
}
