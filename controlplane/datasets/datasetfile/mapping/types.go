package mapping

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// typed gives a value the type of its column. Without a type it stays as it is.
func (t ColumnType) typed(c datasetfile.Cell) (json.RawMessage, *datasetfile.FieldError) {
	refuse := func(what string) (json.RawMessage, *datasetfile.FieldError) {
		value := []byte(c.Value)
		if jsontext.IsString(c.Value) {
			value = []byte(datasetfile.Unquote(c.Value))
		}
		return nil, &datasetfile.FieldError{Column: c.Column, Reason: what, Value: datasetfile.Shown(value)}
	}
	if jsontext.IsNull(c.Value) || t == "" {
		return c.Value, nil
	}
	kind := datasetfile.KindOf(c.Value)
	switch t {
	case TextType:
		switch kind {
		case datasetfile.KindText:
			return c.Value, nil
		case datasetfile.KindNumber, datasetfile.KindBoolean:
			return datasetfile.Quoted(string(c.Value)), nil
		}
		return refuse(fmt.Sprintf("is %s, but the column has the type text: choose the type json for the column", datasetfile.Article(kind)))
	case JSONType:
		if kind != datasetfile.KindText {
			return c.Value, nil
		}
		value, err := datasetfile.ParseJSON(datasetfile.Unquote(c.Value))
		if err != nil {
			return refuse("is no JSON (" + err.Error() + "), but the column has the type json: correct it, or choose the type text for the column")
		}
		return value, nil
	case NumberType:
		if kind == datasetfile.KindNumber {
			return c.Value, nil
		}
		if kind == datasetfile.KindText {
			if text := strings.TrimSpace(datasetfile.Unquote(c.Value)); datasetfile.JSONNumber.MatchString(text) {
				return json.RawMessage(text), nil
			}
		}
		return refuse("is no number such as 3 or -0.25, but the column has the type number: correct it, or choose the type text for the column")
	case BooleanType:
		if kind == datasetfile.KindBoolean {
			return c.Value, nil
		}
		if kind == datasetfile.KindText {
			if text := strings.ToLower(strings.TrimSpace(datasetfile.Unquote(c.Value))); text == "true" || text == "false" {
				return json.RawMessage(text), nil
			}
		}
		return refuse("is neither true nor false, but the column has the type boolean: correct it, or choose the type text for the column")
	}
	return c.Value, nil
}
