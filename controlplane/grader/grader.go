// Package grader grades outputs and trajectories without a model: the same sample always gets the same score.
//
// [Parse] reads the JSON of a grader, also that of OpenAI's graders, and says what is wrong with it. [Grader.Grade] grades one
// [Sample]. A grader that does not apply to a sample gives no score, and one that cannot grade it says why: neither is a fail.
// docs/graders.md describes every type.
package grader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gowebpki/jcs"

	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
)

// Sample is what is graded: what a model or an agent made of an item of a dataset. Its JSON must be valid. A grader does not change it,
// so that several may grade it at once.
type Sample struct {
	// Input and ReferenceOutput are those of the item, nil or null for none.
	Input, ReferenceOutput json.RawMessage
	// Metadata is that of the item.
	Metadata map[string]any
	// Output is a JSON string for a text, or the value of a structured answer. It is nil if there is none.
	Output json.RawMessage
	// Message is the whole last message of the model as in OpenAI's chat completions, with content, tool_calls and refusal. It is nil if
	// that is not known, as for results from outside.
	Message json.RawMessage
	// ToolCalls are all calls, in order. Nil are those of Message. If that is nil, too, the calls are not known. An empty list means that
	// there were none.
	ToolCalls []ToolCall
	// FinishReason is why the model stopped, empty if that is not known.
	FinishReason string
	// What the sample took, nil if that is not known.
	InputTokens, OutputTokens  *int64
	CostUSD                    *float64
	Duration, TimeToFirstToken *time.Duration
}

// ToolCall is a call of a tool.
type ToolCall struct {
	ID, Name string
	// Arguments is the JSON of the arguments, as the value or as a JSON string that has it. It is empty for none.
	Arguments json.RawMessage
	// Result is the JSON of the result, nil if it is not known.
	Result json.RawMessage
	// Error is what went wrong, nil for a call that succeeded or whose end is not known.
	Error *string
}

// Result is the judgement of a grader. Exactly one of these holds: Error is set, Score is nil because the grader does not apply, or
// Score is set.
type Result struct {
	// Score is between 0 and 1, higher is better. It is nil if the grader does not apply, or if Error is set.
	Score *float64
	// Pass is nil without a score, and for a graded score without a pass_threshold.
	Pass *bool
	// Reason is one sentence for a person. It may quote the output.
	Reason string
	// Evidence is an object whose members depend on the type of the grader, nil for none.
	Evidence json.RawMessage
	// Error says why the sample could not be graded, and what to do.
	Error string
	// Lacking is whether the grader looked at tool calls, tokens, costs or durations that the sample does not have. With them, the result
	// may be another one.
	Lacking bool
}

// Applies reports whether the grader gave a score.
func (r *Result) Applies() bool { return r.Score != nil }

// Grader grades samples. Several goroutines may use it at once.
type Grader struct {
	name, kind, version string
	weight              float64
	threshold           *float64
	binary              bool
	reference           bool
	check               check
}

// check is what a type of grader does. A verdict has a score, nothing if the check does not apply, or an error.
type check interface {
	grade(ctx context.Context, s *subject) verdict
}

// Name is the name that the user gave.
func (g *Grader) Name() string { return g.name }

// Type is the type in the grader's JSON.
func (g *Grader) Type() string { return g.kind }

// Version identifies what the grader does: a hash of its definition without the name. It changes too when a release changes how this
// type grades, so that scores with the same version are comparable.
func (g *Grader) Version() string { return g.version }

// Better is the direction of the scores. It is "higher" for every type: a score says how good, not how much.
func (g *Grader) Better() string { return "higher" }

// Binary reports whether the only scores are 0 and 1.
func (g *Grader) Binary() bool { return g.binary }

// LooksAtReference reports whether the grader looks at the reference output of an item.
func (g *Grader) LooksAtReference() bool { return g.reference }

// Grade grades a sample. It ends early, with an error in the result, when the context does.
func (g *Grader) Grade(ctx context.Context, sample *Sample) Result {
	s := newSubject(sample)
	r := g.grade(ctx, s)
	r.Lacking = s.lacking
	return r
}

func (g *Grader) grade(ctx context.Context, s *subject) Result {
	if err := ctx.Err(); err != nil {
		return Result{Error: "Grading was stopped: " + err.Error() + "."}
	}
	v := g.check.grade(ctx, s)
	if err := ctx.Err(); err != nil {
		return Result{Error: "Grading was stopped: " + err.Error() + "."}
	}
	r := Result{Reason: v.reason}
	if v.err != nil {
		return Result{Error: sentence(v.err.Error())}
	}
	if v.evidence != nil {
		evidence, err := json.Marshal(v.evidence)
		if err != nil {
			return Result{Error: sentence("the evidence cannot be written: " + err.Error())}
		}
		r.Evidence = evidence
	}
	if v.score == nil {
		return r
	}
	r.Score, r.Pass = v.score, v.pass
	switch {
	case g.threshold != nil:
		pass := *v.score >= *g.threshold
		r.Pass = &pass
	case g.binary:
		pass := *v.score == 1
		r.Pass = &pass
	}
	return r
}

// verdict is what a check says.
type verdict struct {
	score *float64
	// pass is that of a graded score, nil to leave it to the threshold.
	pass     *bool
	reason   string
	evidence any
	err      error
}

func scored(score float64, evidence any, format string, args ...any) verdict {
	score = min(max(score, 0), 1) // rounding
	return verdict{score: &score, reason: sentence(fmt.Sprintf(format, args...)), evidence: evidence}
}

// judged is the verdict of a graded score with a condition of its own.
func judged(score float64, pass bool, evidence any, format string, args ...any) verdict {
	v := scored(score, evidence, format, args...)
	v.pass = &pass
	return v
}

// passed is the verdict 1 or 0. Of a grader with other scores too, the threshold decides whether that is a pass.
func passed(pass bool, evidence any, format string, args ...any) verdict {
	score := 0.0
	if pass {
		score = 1
	}
	return scored(score, evidence, format, args...)
}

func notApplicable(format string, args ...any) verdict {
	return verdict{reason: "Does not apply: " + fmt.Sprintf(format, args...) + "."}
}

func failed(err error) verdict { return verdict{err: err} }

// sentence makes a sentence of a phrase. Names at its beginning stay as they are.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	word, _, _ := strings.Cut(text, " ")
	if first := text[0]; 'a' <= first && first <= 'z' && !strings.ContainsAny(word, "_:") {
		text = string(first-'a'+'A') + text[1:]
	}
	if last := text[len(text)-1]; last != '.' && last != '!' && last != '?' {
		text += "."
	}
	return text
}

// limits of a definition.
const (
	maxDefinition = 128 << 10
	maxName       = 100
	maxMembers    = 50 // graders in a multi grader
)

// revision is raised when a release changes how graders grade.
const revision = "looptrace-grader/1"

// Parse reads a grader. An error is [problem.Invalid] and names each wrong value below path, such as body.graders[2].pattern, with what
// to do.
func Parse(raw json.RawMessage, path string) (*Grader, error) {
	return parse(raw, path, "")
}

// parse reads a grader. A member of a multi grader may have a weight, and a name from its key there.
func parse(raw json.RawMessage, path, key string) (*Grader, error) {
	d, err := newDefinition(raw, path)
	if err != nil {
		return nil, err
	}
	member := key != ""
	g := &Grader{kind: d.text("type", required), weight: 1}
	if member {
		g.name = d.text("name", key)
	} else {
		g.name = d.text("name", required)
	}
	if len([]rune(g.name)) > maxName {
		d.fail("name", "must have at most %d characters", maxName)
	}
	if w := d.number("weight", 1e6); w != nil {
		g.weight = *w
		if !member {
			d.fail("weight", "is only for graders in a multi grader; leave it out")
		}
	}
	if member && g.kind == "multi" {
		d.fail("type", "must not be multi inside a multi grader; put its graders into the outer one")
	} else if read, ok := types[g.kind]; ok {
		g.check, g.binary = read(d)
	} else if g.kind != "" {
		d.fail("type", "%s", unknownType(g.kind))
	}
	if !g.binary {
		g.threshold = d.number("pass_threshold", 1)
	}
	g.reference = d.reference
	if err := d.done(); err != nil {
		return nil, err
	}
	if g.version, err = version(raw); err != nil {
		return nil, d.invalid("", "cannot be read: "+err.Error())
	}
	return g, nil
}

// types read the members of each type. They return the check, and whether its only scores are 0 and 1.
var types map[string]func(*definition) (check, bool)

func init() {
	types = map[string]func(*definition) (check, bool){
		"string_check": readStringCheck, "text_similarity": readTextSimilarity, "regex": readRegex, "number": readNumber,
		"length": readLength, "json_check": readJSONCheck, "json_similarity": readJSONSimilarity,
		"json_schema": readJSONSchema, "tool_schema": readToolSchema, "finish_reason": readFinishReason, "refusal": readRefusal,
		"trajectory_match": readTrajectoryMatch, "tool_use": readToolUse, "tool_order": readToolOrder, "tool_loop": readToolLoop,
		"budget":     readBudget,
		"expression": readExpression, "multi": readMulti,
	}
}

// Types are the types of graders, sorted.
func Types() []string { return slices.Sorted(maps.Keys(types)) }

func unknownType(kind string) string {
	switch kind {
	case "score_model", "label_model":
		return "is a model that judges: use a judge of the evaluation, with the prompt as its rubric"
	case "python":
		return "is code, which the server does not run: grade in your own program with the SDK and send the scores, or use an expression"
	case "choice":
		return "was removed: use string_check with ignore_case, and a pattern that takes the choice out of the answer, such as (?i)answer:? *([A-E])"
	case "tool_errors":
		return "was removed: use an expression, such as tool_calls.all(c, c.error == null || tool_calls.exists(d, d.name == c.name && d.error == null))"
	case "step_efficiency":
		return "was removed: use budget with max_tool_calls"
	}
	return fmt.Sprintf("must be one of %s, not %s", jsonvalue.List(Types()), jsonvalue.Quote(kind))
}

// version hashes a definition without its name.
func version(raw json.RawMessage) (string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return "", err
	}
	delete(members, "name")
	rest, err := json.Marshal(members)
	if err != nil {
		return "", err
	}
	canonical, err := jcs.Transform(rest)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(revision+"\n"), canonical...))
	return hex.EncodeToString(sum[:8]), nil
}
