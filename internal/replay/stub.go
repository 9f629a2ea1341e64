package replay

import (
	"context"
	"encoding/json"

	"github.com/looptrace/looptrace/internal/llm"
)

type (
	turn         struct{}
	recordedCall struct{}
	messageForms struct{}
)

func read([]Span) *Recording                                { return &Recording{} }
func (r *Recording) check([]Edit, string) (*Checked, error) { return &Checked{Fork: -1}, nil }
func hash([]Edit) (string, error)                           { return "", nil }
func replay(context.Context, *Recording, *Checked, Options, ModelFunc) (*Attempt, error) {
	return &Attempt{}, nil
}
func (r *Recording) spanForm(AttemptStep) (SpanForm, error)               { return SpanForm{}, nil }
func makePlan(*Recording, *Checked, Options) (*Plan, error)               { return &Plan{}, nil }
func (r *Recording) structure(*Checked) Structure                         { return Structure{} }
func (r *Recording) cone([]int) []bool                                    { return nil }
func toChat(_, messages []json.RawMessage) ([]json.RawMessage, error)     { return messages, nil }
func fromChat(messages []json.RawMessage) ([]json.RawMessage, error)      { return messages, nil }
func toolsFromChat(messages []json.RawMessage) ([]json.RawMessage, error) { return messages, nil }

func (r *Request) llm() (llm.Request, error)         { return llm.Request{}, nil }
func responseOf(*llm.Result) Response                { return Response{} }
func checkTools(map[string]ToolPolicy, string) error { return nil }
func (t *Target) unmarshal([]byte) error             { return nil }
func (t Target) marshal() ([]byte, error)            { return nil, nil }
