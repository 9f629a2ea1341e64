package mapping

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// testColumns are the members of a test of promptfoo.
var testColumns = []string{
	"vars", "assert", "description", "options", "metadata", "threshold", "provider", "providers", "prompts", "providerOutput", "assertScoringFunction",
}

const expectedPrefix = "__expected"

func (s *sample) isPromptfoo() bool {
	if s.hasPrefix(expectedPrefix) {
		return true
	}
	vars := s.byName["vars"]
	return vars != nil && vars.kinds[datasetfile.KindObject] > 0 && s.only(testColumns...)
}

// promptfoo makes an item of a test of promptfoo: the vars are the input, the value of the first assertion of the type
// equals is the reference output, and everything else is metadata. In CSV, whose columns are vars, it is the first column
// __expected that has no other assertion. Described at https://www.promptfoo.dev/docs/configuration/test-cases.
func (r *record) promptfoo() {
	if _, found := r.find("vars"); !found && slices.ContainsFunc(r.cells, func(c datasetfile.Cell) bool { return strings.HasPrefix(c.Column, expectedPrefix) }) {
		r.promptfooRow()
		return
	}
	vars := r.take("vars")
	if !jsontext.IsNull(vars) && !jsontext.IsObject(vars) {
		r.refuse("vars", "is no object: the vars of a test that are in a file of their own cannot be read; put them into the test", vars)
		return
	}
	if jsontext.IsObject(vars) {
		r.item.Input = vars
	}
	asserts := datasetfile.Elements(r.get("assert"))
	for i, assert := range asserts {
		value := memberOf(assert, "value")
		if string(memberOf(assert, "type")) != `"equals"` || jsontext.IsNull(value) {
			continue
		}
		r.item.ReferenceOutput = value
		if len(datasetfile.Members(assert)) == 2 {
			r.set("assert", datasetfile.ListOf(slices.Delete(slices.Clone(asserts), i, i+1)))
		}
		break
	}
	if string(r.get("assert")) == "[]" {
		r.mark("assert")
	}
	r.takeMetadata()
}

// assertion is what promptfoo reads as something else than a text that the output must equal.
var assertion = regexp.MustCompile(`^(?s)((javascript|fn|eval|grade|llm-rubric|python):|file://|(not-)?(` +
	`agent-rubric|answer-relevance|bleu|classifier|contains|contains-all|contains-any|contains-html|contains-json|contains-sql|contains-xml|` +
	`context-faithfulness|context-recall|context-relevance|conversation-relevance|cost|equals|factuality|finish-reason|g-eval|gleu|guardrails|` +
	`icontains|icontains-all|icontains-any|is-html|is-json|is-refusal|is-sql|is-valid-function-call|is-valid-openai-function-call|` +
	`is-valid-openai-tools-call|is-xml|javascript|latency|levenshtein|llm-rubric|meteor|model-graded-closedqa|model-graded-factuality|` +
	`moderation|perplexity|perplexity-score|pi|python|regex|rouge-n|ruby|search-rubric|select-best|max-score|similar|similar:cosine|` +
	`similar:dot|similar:euclidean|skill-used|starts-with|tool-call-f1|trace-error-spans|trace-span-count|trace-span-duration|trajectory|` +
	`webhook|word-count)(\([0-9.]+\))?(:|$))`)

// promptfooRow makes an item of a row of CSV.
func (r *record) promptfooRow() {
	var vars, more []datasetfile.Cell
	for _, c := range r.cells {
		special := strings.HasPrefix(c.Column, "__")
		switch {
		case !special:
			vars = append(vars, c)
		case jsontext.IsNull(c.Value):
		case strings.HasPrefix(c.Column, expectedPrefix) && r.item.ReferenceOutput == nil && equalsText(c.Value) != nil:
			r.item.ReferenceOutput = equalsText(c.Value)
		case strings.HasPrefix(c.Column, "__metadata:"):
			more = append(more, testMetadata(c))
		default:
			more = append(more, c)
		}
		r.mark(c.Column)
	}
	if slices.ContainsFunc(vars, func(c datasetfile.Cell) bool { return !jsontext.IsNull(c.Value) }) {
		r.item.Input = datasetfile.AppendObject(nil, vars)
	}
	names := map[string]bool{}
	for _, c := range more {
		if names[c.Column] {
			r.refuse("", fmt.Sprintf("has two columns for %s of the metadata: rename one", c.Column), c.Value)
			return
		}
		names[c.Column] = true
	}
	if len(more) > 0 {
		r.item.Metadata = datasetfile.AppendObject(nil, more)
	}
}

// equalsText returns the text that the output must equal, or nil if an assertion says something else.
func equalsText(value json.RawMessage) json.RawMessage {
	if !jsontext.IsString(value) {
		return value
	}
	text := datasetfile.Unquote(value)
	if equal, found := strings.CutPrefix(text, "equals:"); found {
		return datasetfile.Quoted(strings.TrimSpace(equal))
	}
	if assertion.MatchString(text) {
		return nil
	}
	return value
}

// testMetadata makes metadata of a column such as __metadata:topic, or __metadata:topics[] for a list with commas.
func testMetadata(c datasetfile.Cell) datasetfile.Cell {
	name := strings.TrimPrefix(c.Column, "__metadata:")
	list, isArray := strings.CutSuffix(name, "[]")
	if !isArray || !jsontext.IsString(c.Value) {
		return datasetfile.Cell{Column: name, Value: c.Value}
	}
	var values []json.RawMessage
	for part := range strings.SplitSeq(strings.ReplaceAll(datasetfile.Unquote(c.Value), `\,`, "\x00"), ",") {
		values = append(values, datasetfile.Quoted(strings.TrimSpace(strings.ReplaceAll(part, "\x00", ","))))
	}
	return datasetfile.Cell{Column: list, Value: datasetfile.ListOf(values)}
}
