package genaispans

import (
	"strings"
	"unicode"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// keyUsageConvention says how the input tokens were sent if they were converted: "exclusive" means without cached
// ones.
const keyUsageConvention = "looptrace.usage.convention"

// applyUsage makes input tokens include cached tokens, and output tokens include reasoning tokens, as the conventions
// require. The total shows how they were sent; without a total, parts that exceed their whole do; else the dialect
// decides. What a total has beyond input and output becomes other tokens.
func (x *span) applyUsage() {
	input, hasInput := x.count(toInputTokens)
	output, hasOutput := x.count(toOutputTokens)
	read, _ := x.count(toCacheReadTokens)
	written, _ := x.count(toCacheWriteTokens)
	reasoning, _ := x.count(toReasoningTokens)
	total, hasTotal := x.count(toTotalTokens)
	if long, ok := x.count(toCacheWrite1hTokens); ok && long > written {
		written = long
		x.setCount(toCacheWriteTokens, written)
	}
	if !hasInput && hasTotal && !hasOutput && x.hasNoOutput() {
		x.setCount(toInputTokens, total)
		return
	}
	cached := read + written
	if hasInput && cached > 0 && x.isExclusive(input, output, cached, total, hasTotal && hasOutput) {
		input += cached
		x.setCount(toInputTokens, input)
		x.putOwnString(ownUsageConvention, "exclusive")
	}
	rest := total - input - output
	if hasInput && x.toolUse > 0 && (!hasTotal || rest >= x.toolUse) { // Gemini's prompt excludes the results of its tools
		input += x.toolUse
		x.setCount(toInputTokens, input)
		rest -= x.toolUse
	}
	switch {
	case !hasOutput:
	case reasoning > output, hasTotal && reasoning > 0 && rest == reasoning:
		output += reasoning
		x.setCount(toOutputTokens, output)
	case rest > 0 && reasoning == 0 && hasInput && x.isGemini():
		// Gemini's total is the only place of thoughts that an instrumentation does not read:
		// ai.google.dev/api/generate-content#UsageMetadata.
		output += rest
		x.setCount(toOutputTokens, output)
		x.setCount(toReasoningTokens, rest)
	}
	if rest = total - input - output; hasTotal && rest > 0 {
		x.setCount(toOtherTokens, rest)
	}
}

// hasNoOutput reports whether the span is a call of a model that generates no tokens.
func (x *span) hasNoOutput() bool {
	return x.isCall() && x.kind != runmodel.KindLLM
}

func (x *span) isExclusive(input, output, cached, total int64, hasTotal bool) bool {
	switch {
	case x.best[toInputTokens].isWhole:
		return false
	case hasTotal && total == input+output:
		return x.exclusive && input < cached && total < cached
	case hasTotal && total == input+cached+output:
		return true
	case cached > input:
		return true
	}
	return x.exclusive
}

// isGemini reports whether one of Google's models answered.
func (x *span) isGemini() bool {
	return strings.Contains(x.text(toResponseModel), "gemini") || strings.Contains(x.text(toRequestModel), "gemini")
}

// setCount replaces a candidate by a number.
func (x *span) setCount(to target, n int64) {
	c := &x.best[to]
	c.n, c.kind = n, fromCount
}

// usagePrefixes are the prefixes of attributes that count tokens or their cost.
var usagePrefixes = []string{"gen_ai.usage.", "gen_ai.client.token.usage.", "llm.usage.", "llm.token_count.", "ai.usage.", "usage.", "llm.cost.", "gen_ai.cost."}

// usageKey is what the key of an attribute counts. name is empty if it counts nothing.
type usageKey struct {
	name   string
	is     bucket
	plain  bool
	isCost bool
}

// usageEntry is an attribute that counts tokens, or is their cost.
type usageEntry struct {
	*usageKey
	value pcommon.Value
}

func usageKeyOf(key string) usageKey {
	for _, prefix := range usagePrefixes {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		if strings.HasPrefix(name, "prompt_context.") {
			return usageKey{} // VoltAgent's estimates of what a prompt consists of
		}
		isCost := strings.HasSuffix(prefix, "cost.") || strings.Contains(name, "cost")
		if strings.HasSuffix(prefix, "cost.") {
			name = key[len(prefix)-len("cost."):]
		}
		is, plain := bucketOf(name, noTokens)
		if is == noTokens && !plain && !isCost {
			return usageKey{}
		}
		return usageKey{name, is, plain, isCost}
	}
	return usageKey{}
}

// usageAttributes offers the counts and costs in attributes.
func (x *span) usageAttributes() {
	const source = "attributes of usage"
	var b buckets
	var costs object
	for i := range x.usage {
		entry := &x.usage[i]
		if entry.isCost {
			costs = append(costs, member{entry.name, valueText(entry.value)})
			continue
		}
		if entry.value.Type() == pcommon.ValueTypeInt {
			b.count(entry.is, entry.plain, entry.value.Int())
			continue
		}
		b.add(object{{entry.name, valueText(entry.value)}}, noTokens, maxUsageDepth)
	}
	if b.has[toolUsePrompt] && !b.has[inputTokens] { // it is in an attribute that a rule reads
		x.toolUse = b.sum(toolUsePrompt, false)
		b.has[toolUsePrompt] = false
	}
	x.proposeUsage(b.usage(false), source, uint16(rankDialect+int(generic)*rankStep+rankStep-1))
	if len(costs) > 0 {
		x.offerCost(generic, costs, source, false, false)
	}
}

// usage is the usage of a call, in which input and output include their parts. A count is -1 if it is unknown.
type usage struct {
	input, output, total           int64
	cacheRead, cacheWrite, cache1h int64
	reasoning                      int64
	// sentInput is the input as it was sent, which may exclude cached tokens.
	sentInput int64
}

// offerUsage offers the usage in a JSON object. apart tells that its counts do not overlap, unless its total shows that
// they do.
func (x *span) offerUsage(id dialectID, o object, source string, apart bool) {
	x.proposeUsage(usageOf(o, apart), source, uint16(rankDialect+int(id)*rankStep+rankStep-1))
}

// overrideUsage is offerUsage for a dialect whose usage wins over the conventions' attributes.
func (x *span) overrideUsage(id dialectID, o object, source string, apart bool) {
	x.proposeUsage(usageOf(o, apart), source, uint16(id))
}

func (x *span) proposeUsage(u usage, source string, rank uint16) {
	if input, ok := x.count(toInputTokens); ok && input == u.sentInput && u.input > input {
		x.best[toInputTokens].kind = none // it excludes cached tokens as the object does
	}
	for _, t := range [...]struct {
		to target
		n  int64
	}{
		{toInputTokens, u.input},
		{toOutputTokens, u.output},
		{toTotalTokens, u.total},
		{toCacheReadTokens, u.cacheRead},
		{toCacheWriteTokens, u.cacheWrite},
		{toCacheWrite1hTokens, u.cache1h},
		{toReasoningTokens, u.reasoning},
	} {
		if best := &x.best[t.to]; t.n >= 0 && (best.kind == none || rank < best.rank) {
			*best = candidate{n: t.n, source: source, as: asCount, kind: fromCount, rank: rank, isWhole: true}
		}
	}
}

// bucket is what a member of a usage counts.
type bucket uint8

const (
	noTokens bucket = iota
	allTokens
	inputTokens
	inputPart // a part of the input of a name that is not known: a tier, a modality
	uncachedInput
	toolUsePrompt
	cacheRead
	cacheWrite
	cacheWrite5m
	cacheWrite1h
	outputTokens
	outputPart
	reasoningTokens
	bucketCount
)

// buckets are the counts of a usage. A count whose name has no words but those of its bucket is plain. Others are
// apart from it, or a part of it.
type buckets struct {
	plain, other [bucketCount]int64
	has          [bucketCount]bool
}

// sum returns the tokens of a bucket.
func (b *buckets) sum(of bucket, apart bool) int64 {
	if plain, other := b.plain[of], b.other[of]; !apart && plain > 0 || plain == other {
		return plain
	}
	return b.plain[of] + b.other[of]
}

func (b *buckets) any(of ...bucket) bool {
	for _, is := range of {
		if b.has[is] {
			return true
		}
	}
	return false
}

// usageOf reads a usage in any form: OpenAI's sums with details, Anthropic's, Bedrock's and Gemini's counts, and
// buckets that do not overlap, with any suffix, such as Langfuse's. It chooses the reading that the total confirms.
// Without one, parts that together exceed their whole show that the whole excludes them.
func usageOf(o object, apart bool) usage {
	var b buckets
	b.add(o, noTokens, maxUsageDepth)
	return b.usage(apart)
}

// usage returns the usage that the buckets add up to.
func (b *buckets) usage(apart bool) usage {
	sum := func(of bucket) int64 { return b.sum(of, apart) }
	read, written, long, reasoning := sum(cacheRead), sum(cacheWrite), sum(cacheWrite1h), sum(reasoningTokens)
	written = max(written, long+sum(cacheWrite5m))
	cached := read + written
	input, output := sum(inputTokens), sum(outputTokens)
	if !b.has[inputTokens] && b.has[uncachedInput] {
		input = sum(uncachedInput) + cached
	}
	inputParts, outputParts := sum(inputPart), sum(outputPart)
	if inputParts == input { // the same by modality
		inputParts = 0
	}
	if outputParts == output {
		outputParts = 0
	}
	// Gemini's prompt excludes the results of its tools, and its candidates exclude thoughts:
	// ai.google.dev/api/generate-content#UsageMetadata.
	input += sum(toolUsePrompt)
	inputs := [2]int64{input, input + cached + inputParts}
	outputs := [2]int64{output, output + reasoning + outputParts}
	if cached > input || apart {
		inputs[0], inputs[1] = inputs[1], inputs[0]
	}
	if reasoning > output || apart {
		outputs[0], outputs[1] = outputs[1], outputs[0]
	}
	u := usage{
		input: -1, output: -1, total: -1, cacheRead: -1, cacheWrite: -1, cache1h: -1, reasoning: -1, sentInput: -1,
	}
	total := sum(allTokens)
	input, output = inputs[0], outputs[0]
	for i := range len(inputs) * len(outputs) {
		in, out := inputs[i/len(outputs)], outputs[i%len(outputs)]
		if b.has[allTokens] && in+out == total && cached <= in && reasoning <= out {
			input, output = in, out
			break
		}
	}
	if b.any(inputTokens, inputPart, uncachedInput, toolUsePrompt) {
		u.input, u.sentInput = input, b.plain[inputTokens]
	}
	if b.any(outputTokens, outputPart) {
		u.output = output
	}
	if b.has[allTokens] {
		u.total = total
	}
	if b.has[cacheRead] {
		u.cacheRead = read
	}
	if b.any(cacheWrite, cacheWrite5m, cacheWrite1h) {
		u.cacheWrite = written
	}
	if b.has[cacheWrite1h] {
		u.cache1h = long
	}
	if b.has[reasoningTokens] {
		u.reasoning = reasoning
	}
	return u
}

// count adds one count to its bucket.
func (b *buckets) count(is bucket, plain bool, n int64) {
	switch {
	case is == noTokens || n < 0:
		return
	case plain:
		b.plain[is] = max(b.plain[is], n) // of two, one is the other in another spelling
	default:
		b.other[is] += n
	}
	b.has[is] = true
}

// maxUsageDepth limits how deep details are read. Those of Anthropic and LangChain are two levels deep.
const maxUsageDepth = 4

// add adds the members of a usage to their buckets. within is the side that the object details, if it does: there,
// parts of unknown names are parts of what the outer object counts already.
func (b *buckets) add(o object, within bucket, depth int) {
	for _, m := range o {
		is, plain := bucketOf(m.key, within)
		if n, ok := parseCount(m.value); ok {
			if within == noTokens || is != inputPart && is != outputPart {
				b.count(is, plain, n)
			}
			continue
		}
		if depth == 0 {
			continue
		}
		text := unquoted(m.value)
		details, ok := parseObject(text)
		if !ok {
			details, ok = parsePython(text)
		}
		switch {
		case !ok: // a list by modality
		case is == cacheWrite:
			b.add(details, inputTokens, depth-1)
		case within == noTokens && (is == inputTokens || is == inputPart):
			b.add(details, inputTokens, depth-1)
		case within == noTokens && (is == outputTokens || is == outputPart):
			b.add(details, outputTokens, depth-1)
		case within == noTokens && is == noTokens && plain: // details, raw
			b.add(details, noTokens, depth-1)
		}
	}
}

// bucketOf classifies the name of a count by its words, in snake or camel case. plain is true if the name has no words
// but those of its bucket. A count within the details of the input or output belongs to that side.
func bucketOf(name string, within bucket) (is bucket, plain bool) {
	var has words
	for word := range wordsOf(name) {
		has |= meaningOf(word)
	}
	plain = has&wordOther == 0
	isInput, isOutput := has&wordInput != 0 || within == inputTokens, has&wordOutput != 0 || within == outputTokens
	switch {
	case has&wordNot != 0:
	case has&wordReasoning != 0:
		return reasoningTokens, plain
	case has&(wordUncached|wordMiss) != 0 && has&(wordCache|wordCached) != 0:
		return uncachedInput, plain
	case has&(word1h|word5m) != 0 && (isInput || has&wordCache != 0):
		if has&word1h != 0 {
			return cacheWrite1h, plain
		}
		return cacheWrite5m, plain
	case has&(wordCache|wordCached) != 0 && has&wordWrite != 0:
		return cacheWrite, plain
	case has&(wordCache|wordCached) != 0:
		return cacheRead, plain
	case has&wordTool != 0:
		if isInput {
			return toolUsePrompt, plain
		}
	case has&wordEval != 0: // Ollama's prompt_eval_count and eval_count
		if isInput {
			return inputTokens, plain
		}
		return outputTokens, plain
	case isInput && isOutput: // a detail that names the other side
	case isInput:
		if plain && within == noTokens {
			return inputTokens, plain
		}
		return inputPart, plain
	case isOutput:
		if plain && within == noTokens {
			return outputTokens, plain
		}
		return outputPart, plain
	case plain && (has&wordTotal != 0 || name == "tokens"):
		return allTokens, plain
	}
	return noTokens, plain
}

// words is a set of meanings of the words in the name of a count.
type words uint32

const (
	wordInput words = 1 << iota
	wordOutput
	wordTotal
	wordTokens
	wordCache
	wordCached
	wordWrite
	wordUncached
	wordMiss
	wordReasoning
	wordTool
	wordEval
	word1h
	word5m
	wordNot   // not a number of tokens
	wordOther // none of these
)

func meaningOf(word string) words {
	switch word {
	case "input", "inputs", "prompt":
		return wordInput
	case "output", "outputs", "completion", "completions", "candidates", "candidate", "generated", "generation":
		return wordOutput
	case "total":
		return wordTotal
	case "token", "tokens", "count", "counts", "usage", "details", "detail", "content", "read", "hit", "hits", "ephemeral", "use", "of", "num", "number", "metadata", "raw":
		return wordTokens
	case "cache":
		return wordCache
	case "cached":
		return wordCached
	case "creation", "create", "created", "write", "writes", "written":
		return wordWrite
	case "uncached", "noncached":
		return wordUncached | wordCached
	case "no", "non", "not":
		return wordUncached
	case "miss", "misses", "missed":
		return wordMiss
	case "reasoning", "thinking", "thought", "thoughts":
		return wordReasoning
	case "tool", "tools":
		return wordTool
	case "eval":
		return wordEval
	case "1h", "1hour", "60m", "3600s", "ephemeral1h":
		return word1h
	case "5m", "5min", "300s", "ephemeral5m":
		return word5m
	case "cost", "costs", "price", "usd", "request", "requests", "call", "calls", "characters", "chars", "seconds", "second", "duration", "ms",
		"time", "latency", "partial", "aggregated", "aggregate", "cumulative", "session", "average", "avg", "rate", "ratio", "percent", "percentage", "limit", "max", "remaining", "messages", "queries", "images", "files", "videos":
		return wordNot
	}
	return wordOther
}

// wordsOf iterates over the words of a name in lower case.
func wordsOf(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		from := 0
		for i, r := range name {
			isBreak := !unicode.IsLetter(r) && !unicode.IsDigit(r)
			isNew := i > from && unicode.IsUpper(r) && (name[i-1] >= 'a' && name[i-1] <= 'z' || name[i-1] >= '0' && name[i-1] <= '9')
			if !isBreak && !isNew {
				continue
			}
			if i > from && !yield(strings.ToLower(name[from:i])) {
				return
			}
			if from = i; isBreak {
				from++ // a letter that is no ASCII is part of a word
			}
		}
		if from < len(name) {
			yield(strings.ToLower(name[from:]))
		}
	}
}
