package replays

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/cespare/xxhash/v2"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
)

// Did is what a run or an attempt did, without its texts.
type Did struct {
	// Bytes is a hash of all answers and results, Decisions one of tool calls and the outcome.
	Bytes     string `json:"bytes"`
	Decisions string `json:"decisions"`
	// Calls are the calls of tools in their order.
	Calls []DidCall `json:"calls"`
	// Answer is a hash of the last answer, empty if there is none, and Words hashes of its words: see wordsOf.
	Answer string   `json:"answer"`
	Words  []uint64 `json:"words"`
	// CostUSD, Tokens and DurationMS are those of the run, with what was copied. They are nil if a part is unknown.
	CostUSD    *float64 `json:"cost_usd"`
	Tokens     *float64 `json:"tokens"`
	DurationMS *float64 `json:"duration_ms"`
}

// DidCall is a call of a tool. Call is a hash of the name, the arguments and whether it failed.
type DidCall struct {
	Tool string `json:"tool"`
	Call string `json:"call"`
}

// noting notes what a run does.
type noting struct {
	did              Did
	bytes, decisions []string
	cost, tokens     float64
	// uncosted and uncounted report that the cost or the tokens of a call are unknown.
	uncosted, uncounted bool
}

// add adds a call of a model or a tool, and returns a hash of what was decided. Ids of calls differ each time and do not count.
func (n *noting) add(response *recorded.Response, tool *recorded.ToolCall, status string, costUSD *float64) (signature string) {
	if tool != nil {
		call := sumOf("tool", tool.Name, canonical(tool.Arguments), status)
		n.did.Calls = append(n.did.Calls, DidCall{Tool: sumOf(tool.Name), Call: call})
		result := "none"
		if tool.Result != nil {
			result = "result " + *tool.Result
		}
		n.decisions, n.bytes = append(n.decisions, call), append(n.bytes, call, result)
		return call
	}
	if costUSD == nil {
		n.uncosted = true
	} else {
		n.cost += *costUSD
	}
	if response == nil {
		n.uncounted = true
		n.decisions, n.bytes = append(n.decisions, status), append(n.bytes, status)
		return sumOf("model", status)
	}
	if u := response.Usage; u == nil || u.Input == nil || u.Output == nil {
		n.uncounted = true
	} else {
		n.tokens += float64(*u.Input + *u.Output)
	}
	text, calls := answerOf(response.Message)
	n.bytes = append(n.bytes, text, calls)
	if calls != "" { // what it says beside its calls is no decision
		return sumOf("calls", calls)
	}
	return sumOf("answer", strings.Join(strings.Fields(text), " "))
}

// addStep adds a step of an attempt. What a copied one did is in the recording.
func (n *noting) addStep(r *recorded.Recording, step *engine.AttemptStep) (signature string) {
	if step.Source != engine.SourceCopied || step.Recorded < 0 {
		return n.add(step.Response, step.Tool, step.Status, step.CostUSD)
	}
	was := &r.Steps[step.Recorded]
	if was.Model == nil {
		return n.add(nil, was.Tool, step.Status, nil)
	}
	return n.add(was.Model.Response, nil, step.Status, was.Model.CostUSD)
}

// end returns what was done.
func (n *noting) end(outcome *float64, answer *string) Did {
	result, err := json.Marshal(outcome)
	if err != nil {
		result = nil // a number always encodes
	}
	d := n.did
	d.Bytes, d.Decisions = sumOf(n.bytes...), sumOf(append(n.decisions, string(result))...)
	if answer != nil {
		d.Answer, d.Words = sumOf(*answer), wordsOf(*answer)
	}
	if !n.uncosted {
		d.CostUSD = &n.cost
	}
	if !n.uncounted {
		d.Tokens = &n.tokens
	}
	return d
}

func sumOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	const enough = 16
	return hex.EncodeToString(sum[:enough])
}

// canonical returns JSON with sorted members and without spaces, and other texts as they are.
func canonical(text string) string {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return text // it came from JSON
	}
	return string(encoded)
}

// answerOf returns the text of a message, and its tool calls without ids.
func answerOf(message json.RawMessage) (text, calls string) {
	var read struct {
		Content   json.RawMessage `json:"content"`
		ToolCalls []struct {
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if json.Unmarshal(message, &read) != nil {
		return string(message), ""
	}
	if json.Unmarshal(read.Content, &text) != nil && string(read.Content) != "null" {
		text = string(read.Content)
	}
	var parts []string
	for _, call := range read.ToolCalls {
		parts = append(parts, call.Function.Name, canonical(call.Function.Arguments))
	}
	return text, strings.Join(parts, "\x00")
}

// maxWords is how many hashes of words are kept of an answer: the smallest ones, whose overlap estimates that of all (Broder, 1997).
const maxWords = 4096

// wordsOf returns the sorted and distinct hashes of the words of a text.
func wordsOf(text string) []uint64 {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	hashes := make([]uint64, len(words))
	for i, word := range words {
		hashes[i] = xxhash.Sum64String(word)
	}
	slices.Sort(hashes)
	hashes = slices.Compact(hashes)
	return hashes[:min(len(hashes), maxWords)]
}

// answerDistance is the share of words that only one of two answers has, from 0 for equal texts to 1.
func (d *Did) answerDistance(o *Did) float64 {
	if d.Answer == o.Answer {
		return 0
	}
	both, either := 0, 0
	a, b := d.Words, o.Words
	for i, j := 0, 0; (i < len(a) || j < len(b)) && either < maxWords; either++ {
		switch {
		case j == len(b) || i < len(a) && a[i] < b[j]:
			i++
		case i == len(a) || a[i] > b[j]:
			j++
		default:
			both, i, j = both+1, i+1, j+1
		}
	}
	if either == 0 {
		return 1 // they have no words
	}
	// Texts that differ only in the order of their words are not the same.
	const order = .01
	return max(1-float64(both)/float64(either), order)
}

// otherArguments is how far two calls of one tool with different arguments are from each other. Calls of two tools are 1 apart.
const otherArguments = .5

// maxCalls is how many tool calls are compared with each other, from the first ones that differ on: their time grows with the square.
const maxCalls = 2000

// callsDistance is the edit distance of the sequences of tool calls (Levenshtein, with otherArguments), relative to the longer one.
func (d *Did) callsDistance(o *Did) float64 {
	a, b := d.Calls, o.Calls
	longest := float64(max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 0 && len(b) == 0 {
		return 0
	}
	a, b = a[:min(len(a), maxCalls)], b[:min(len(b), maxCalls)]
	row := make([]float64, len(b)+1)
	for j := range row {
		row[j] = float64(j)
	}
	for i := range a {
		before := row[0]
		row[0] = float64(i + 1)
		for j := range b {
			cost := 1.
			switch {
			case a[i].Call == b[j].Call:
				cost = 0
			case a[i].Tool == b[j].Tool:
				cost = otherArguments
			}
			before, row[j+1] = row[j+1], min(before+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)] / longest
}

// hashOf is a hash of the steps of a recording: what they asked and what came of it.
func hashOf(r *recorded.Recording) string {
	did, _ := doneBy(r, nil, nil)
	parts := []string{did.Bytes, string(r.Replayability.Level)}
	for i := range r.Steps {
		step := &r.Steps[i]
		parts = append(parts, step.SpanID, string(step.Kind), step.Name, step.Status, strconv.Itoa(step.Parent), r.RequestDigest(i))
	}
	return sumOf(parts...)
}

// inOrder returns the places of the calls of an attempt in the order in which the recorded run has them: those of one parent as they were
// made, and those of parallel branches, which take other times at each attempt, as in the recording.
func inOrder(steps []engine.AttemptStep) (order []int) {
	for i := range steps {
		if steps[i].Kind != recorded.KindFrame && steps[i].Source != engine.SourceNotReached {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(steps[a].Offset, steps[b].Offset), cmp.Compare(steps[a].Recorded, steps[b].Recorded))
	})
	latest, place := map[int]int{}, make([]int, len(steps))
	for _, i := range order {
		parent := steps[i].Parent
		latest[parent] = max(latest[parent], steps[i].Recorded, parent)
		place[i] = latest[parent]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(place[a], place[b]) })
	return order
}

// doneBy is what the recorded run did, and a signature for each of its steps.
func doneBy(r *recorded.Recording, outcome *float64, answer *string) (Did, []string) {
	var n noting
	signatures := make([]string, len(r.Steps))
	for i := range r.Steps {
		step := &r.Steps[i]
		switch {
		case step.Model != nil:
			signatures[i] = n.add(step.Model.Response, nil, step.Status, step.Model.CostUSD)
		case step.Tool != nil:
			signatures[i] = n.add(nil, step.Tool, step.Status, nil)
		}
	}
	d := n.end(outcome, answer)
	d.DurationMS = milliseconds(r.Duration)
	return d, signatures
}

// answerIn returns the text of the last answer that a recording has, nil if there is none.
func answerIn(r *recorded.Recording) *string {
	last := -1
	for i := range r.Steps {
		step := &r.Steps[i]
		if step.Model == nil || step.Model.Response == nil {
			continue
		}
		if _, calls := answerOf(step.Model.Response.Message); calls == "" && (last < 0 || cmp.Compare(step.Offset, r.Steps[last].Offset) >= 0) {
			last = i
		}
	}
	if last < 0 {
		return nil
	}
	text, _ := answerOf(r.Steps[last].Model.Response.Message)
	return &text
}
