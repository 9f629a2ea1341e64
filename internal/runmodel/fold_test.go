package runmodel

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func number[T any](v T) *T { return &v }

// TestOverlayCoversEveryField fails if a field is added to Span and forgotten in the fold.
func TestOverlayCoversEveryField(t *testing.T) {
	t.Parallel()
	identity := []string{"ProjectID", "RunID", "SpanID"}
	kind := reflect.TypeFor[Span]()
	for i := range kind.NumField() {
		field := kind.Field(i)
		if slices.Contains(identity, field.Name) {
			continue
		}
		older := Span{SpanID: 1, Version: 1}
		newer := Span{SpanID: 1, Version: 2}
		if field.Name == "CostSource" || field.Name == "PriceVersion" {
			newer.CostUSD = new(float64) // without a cost they have no meaning
		}
		if field.Name == "OutputCalls" {
			newer.OutputPreview = "f()" // without a preview it has no meaning
		}
		if field.Name == "InputDigest" {
			newer.InputMessageIDs = []uint64{1} // without messages it has no meaning
		}
		if field.Name == "FromLog" {
			continue // it controls how versions are joined and is not part of the span
		}
		value := reflect.ValueOf(&newer).Elem().Field(i)
		switch field.Type.Kind() {
		case reflect.String:
			value.SetString("x")
		case reflect.Uint64, reflect.Uint32:
			value.SetUint(7)
		case reflect.Bool:
			value.SetBool(true)
		case reflect.Pointer:
			value.Set(reflect.New(field.Type.Elem()))
		case reflect.Slice:
			value.Set(reflect.MakeSlice(field.Type, 1, 1))
		case reflect.Map:
			value.Set(reflect.ValueOf(map[string]string{"k": "v"}))
		case reflect.Struct:
			value.Set(reflect.ValueOf(time.Unix(9, 0)))
		default:
			t.Fatalf("field %s has a type that this test does not know", field.Name)
		}
		folded := Fold([]Span{newer, older})
		require.Len(t, folded, 1, field.Name)
		assert.Equal(t, value.Interface(), reflect.ValueOf(folded[0]).Field(i).Interface(), field.Name)
		// Fields that a newer version lacks stay.
		if field.Name != "Version" {
			older, newer = newer, Span{SpanID: 1, Version: 3}
			folded = Fold([]Span{newer, older})
			assert.Equal(t, reflect.ValueOf(older).Field(i).Interface(), reflect.ValueOf(folded[0]).Field(i).Interface(), field.Name)
		}
	}
}

func TestFoldIsOrderless(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	var versions []Span
	for i := range 40 {
		versions = append(versions, Span{
			SpanID: uint64(1 + i%7), Version: uint64(100 + i), StartTime: time.Unix(int64(i%5), 0), Name: []string{"", "a", "b"}[i%3],
			Metadata: map[string]string{"k": string(rune('a' + i))},
		})
	}
	want, wantRun := Fold(versions), Totals(versions)
	for range 50 {
		shuffled := append(slices.Clone(versions), versions[:random.IntN(len(versions))]...)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		require.Equal(t, want, Fold(shuffled))
		require.Equal(t, wantRun, Totals(shuffled))
	}
}

func TestDepths(t *testing.T) {
	t.Parallel()
	span := func(id, parent uint64) Span { return Span{SpanID: id, ParentSpanID: parent} }
	for name, test := range map[string]struct {
		spans []Span
		want  []int
	}{
		"a tree":                {[]Span{span(1, 0), span(2, 1), span(3, 2), span(4, 1)}, []int{0, 1, 2, 1}},
		"children first":        {[]Span{span(3, 2), span(2, 1), span(1, 0)}, []int{2, 1, 0}},
		"a parent not arrived":  {[]Span{span(2, 9), span(3, 2)}, []int{0, 1}},
		"its own parent":        {[]Span{span(1, 1), span(2, 1)}, []int{0, 1}},
		"a circle ends somehow": {[]Span{span(1, 2), span(2, 1)}, []int{1, 0}},
	} {
		assert.Equal(t, test.want, Depths(test.spans), name)
	}
}

// TestSortByStart checks that spans are ordered by start, then depth and id, and complete.
func TestSortByStart(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 40; n++ {
		spans, depths := make([]Span, n), map[uint64]int{}
		for i := range spans {
			id := uint64(n - i) // so that parents have the greater ids
			spans[i] = Span{SpanID: id, StartTime: time.Unix(random.Int64N(int64(n)), 0)}
			if i > 0 {
				parent := uint64(n - random.IntN(i))
				spans[i].ParentSpanID, depths[id] = parent, depths[parent]+1
			}
		}
		random.Shuffle(n, func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
		sorted := slices.SortedFunc(slices.Values(spans), func(a, b Span) int {
			return cmp.Or(a.StartTime.Compare(b.StartTime), cmp.Compare(depths[a.SpanID], depths[b.SpanID]), cmp.Compare(a.SpanID, b.SpanID))
		})
		sortByStart(spans)
		assert.Equal(t, sorted, spans)
	}
}

func TestCountsUsage(t *testing.T) {
	t.Parallel()
	at := func(s Span, id, parent uint64) Span {
		s.SpanID, s.ParentSpanID, s.StartTime = id, parent, time.Unix(int64(id), 0)
		return s
	}
	agent := Span{Kind: KindAgent, InputTokens: number[int64](30)}
	plain := Span{Kind: KindSpan}
	call := Span{Kind: KindLLM, InputTokens: number[int64](10)}
	for name, test := range map[string]struct {
		spans []Span
		want  []bool
	}{
		"calls count, their agent's roll-up does not": {
			[]Span{at(agent, 1, 0), at(plain, 2, 1), at(call, 3, 2), at(call, 4, 1)},
			[]bool{false, false, true, true},
		},
		"an agent that alone knows counts once": {
			[]Span{at(agent, 1, 0), at(agent, 2, 1), at(Span{Kind: KindLLM}, 3, 2)},
			[]bool{true, false, false},
		},
		"two agents, one with calls": {
			[]Span{at(plain, 1, 0), at(agent, 2, 1), at(call, 3, 2), at(agent, 4, 1)},
			[]bool{false, false, true, true},
		},
		"a poll for a response repeats the call": {
			[]Span{at(call, 1, 0), at(Span{Operation: "fetch_response", InputTokens: number[int64](10)}, 2, 0)},
			[]bool{true, false},
		},
		"a circle of parents ends": {
			[]Span{at(agent, 1, 2), at(agent, 2, 1)},
			[]bool{true, false},
		},
		"a circle of calls ends": {
			[]Span{at(call, 1, 2), at(call, 2, 1)},
			[]bool{true, false},
		},
		"a call that wraps a call repeats it (ADK call_llm and generate_content)": {
			[]Span{at(agent, 1, 0), at(call, 2, 1), at(call, 3, 2)},
			[]bool{false, false, true},
		},
		"a call that wraps one without usage is the one that knows": {
			[]Span{at(call, 1, 0), at(Span{Kind: KindLLM}, 2, 1)},
			[]bool{true, false},
		},
		"a call beneath a tool that a call has asked for is another one (ADK's AgentTool)": {
			[]Span{at(call, 1, 0), at(Span{Kind: KindTool}, 2, 1), at(agent, 3, 2), at(call, 4, 3)},
			[]bool{true, false, false, true},
		},
		"an agent beneath a tool beneath a call has its own tokens": {
			[]Span{at(call, 1, 0), at(Span{Kind: KindTool}, 2, 1), at(agent, 3, 2)},
			[]bool{true, false, true},
		},
		"a raw request beneath a call repeats it (LiteLLM)": {
			[]Span{at(call, 1, 0), at(Span{Kind: KindSpan, InputTokens: number[int64](10)}, 2, 1)},
			[]bool{true, false},
		},
		"what repeats by itself never counts": {
			[]Span{at(Span{Kind: KindSpan, Counting: CountNothing, InputTokens: number[int64](10)}, 1, 0)},
			[]bool{false},
		},
		"what goes on with a call states its usage (Logfire's streaming)": {
			[]Span{at(Span{Kind: KindLLM}, 1, 0), at(Span{Kind: KindLLM, Counting: CountUsage, InputTokens: number[int64](10)}, 2, 0)},
			[]bool{false, true},
		},
		"a turn and its responses (Codex)": {
			[]Span{at(agent, 1, 0), at(plain, 2, 1), at(call, 3, 2), at(call, 4, 2)},
			[]bool{false, false, true, true},
		},
		"a wrapper whose call came elsewhere counts (AI SDK)": {
			[]Span{at(Span{Kind: KindWorkflow, InputTokens: number[int64](10)}, 1, 0)},
			[]bool{true},
		},
	} {
		assert.Equal(t, test.want, CountsUsage(test.spans), name)
	}
}

// Two libraries, one inside the other, may disagree about the tokens of a stream, and have no response if it fails.
func TestCallsOfTwoLibraries(t *testing.T) {
	t.Parallel()
	call := func(id uint64, scope string, from, to int64, more Span) Span {
		more.SpanID, more.ParentSpanID, more.Version, more.Kind, more.ScopeName = id, 1, id, KindLLM, scope
		more.StartTime, more.EndTime, more.RequestModel = time.Unix(from, 0), time.Unix(to, 0), "m"
		return more
	}
	stream := func(output int64) Span {
		return Span{ResponseHash: 7, InputTokens: number[int64](10), OutputTokens: &output}
	}
	failed := Span{Status: StatusError}
	root := Span{SpanID: 1, Version: 1, StartTime: time.Unix(0, 0), EndTime: time.Unix(100, 0)}
	for name, test := range map[string]struct {
		spans  []Span
		calls  uint64
		output int64
	}{
		"the inner one knows":                     {[]Span{call(2, "a", 1, 9, stream(24)), call(3, "b", 2, 8, stream(23))}, 1, 23},
		"the inner one has no usage":              {[]Span{call(2, "a", 1, 9, stream(24)), call(3, "b", 2, 8, Span{ResponseHash: 7})}, 1, 24},
		"of one library, with one id for all":     {[]Span{call(2, "a", 1, 9, stream(24)), call(3, "a", 2, 8, stream(23))}, 2, 47},
		"one after the other":                     {[]Span{call(2, "a", 1, 4, stream(24)), call(3, "b", 5, 8, stream(23))}, 2, 47},
		"both failed":                             {[]Span{call(2, "a", 1, 9, failed), call(3, "b", 2, 8, failed)}, 1, 0},
		"two failed at once":                      {[]Span{call(2, "a", 1, 7, failed), call(3, "a", 2, 9, failed), call(4, "b", 3, 6, failed), call(5, "b", 4, 8, failed)}, 2, 0},
		"two failed, the first took longer":       {[]Span{call(2, "a", 1, 9, failed), call(3, "a", 2, 5, failed), call(4, "b", 3, 4, failed), call(5, "b", 4, 8, failed)}, 2, 0},
		"the second of two libraries went on":     {[]Span{call(2, "a", 1, 5, failed), call(3, "b", 2, 8, failed)}, 2, 0},
		"one failed, and one was asked meanwhile": {[]Span{call(2, "a", 1, 9, stream(24)), call(3, "b", 2, 8, failed)}, 2, 24},
	} {
		run := Totals(append(test.spans, root))
		assert.Equal(t, test.calls, run.LLMCallCount, name)
		if test.output > 0 {
			assert.Equal(t, test.output, *run.OutputTokens, name)
		}
	}
}

// The totals depend on the set of spans, not on their order or repetition.
func TestUsageCountsInAnyOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	kinds := []string{KindLLM, KindAgent, KindTool, KindSpan, KindEmbedding}
	for range 200 {
		spans := make([]Span, 1+random.IntN(12))
		for i := range spans {
			spans[i] = Span{
				SpanID: uint64(i + 1), ParentSpanID: uint64(random.IntN(i + 1)), Version: uint64(100 + i),
				StartTime: time.Unix(int64(i), 0), EndTime: time.Unix(100, 0), Kind: kinds[random.IntN(len(kinds))],
			}
			if random.IntN(3) > 0 {
				spans[i].InputTokens = number(int64(1) << i)
			}
		}
		want := Totals(spans)
		// Exactly the sum over the counted spans, each once.
		var sum int64
		for i, counts := range CountsUsage(Fold(spans)) {
			if counts {
				sum += *spans[i].InputTokens
			}
		}
		if want.InputTokens != nil {
			require.Equal(t, *want.InputTokens, sum)
		}
		random.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
		require.Equal(t, want, Totals(append(spans, spans[0])))
	}
}

// TestDeepRun adds up a run of as many nested spans as there are leaves below the last of them: calls, roll-ups, with
// and without a cost. An algorithm that walks from each leaf to the root exceeds the test's time.
func TestDeepRun(t *testing.T) {
	t.Parallel()
	const depth, leaves = 50_000, 50_000
	spans := make([]Span, 0, depth+leaves)
	for i := range depth + leaves {
		s := Span{SpanID: uint64(i + 1), ParentSpanID: uint64(min(i, depth)), Version: 1, StartTime: time.Unix(int64(i), 0), Kind: KindTask}
		if i >= depth {
			s.InputTokens = number[int64](2)
			if i%2 == 0 {
				s.Kind, s.InputTokens = KindLLM, number[int64](1)
			}
			if i%10 == 0 {
				s.CostUSD, s.CostSource = usd(1), CostComputed
			}
		}
		spans = append(spans, s)
	}
	run := Totals(spans)
	assert.EqualValues(t, leaves/2*3, *run.InputTokens)
	assert.EqualValues(t, leaves/2, run.LLMCallCount)
	assert.InDelta(t, leaves/10, *run.CostUSD, 0)
	assert.EqualValues(t, leaves-leaves/10, run.UnpricedCallCount)

	for i := range depth { // in a cycle nothing above them counts either
		spans[i].Kind = KindLLM
	}
	spans[0].ParentSpanID = depth
	assert.EqualValues(t, leaves/2*3, *Totals(spans).InputTokens)
}

// Log records of a span are joined to it, in any order and however often.
func TestLogsFillTheirSpan(t *testing.T) {
	t.Parallel()
	at := time.Unix(100, 0).UTC()
	span := Span{
		SpanID: 1, Version: 10, Name: "chat", Kind: KindLLM, StartTime: at, EndTime: at.Add(time.Second), InputTokens: number[int64](3),
		Events: `[{"name":"exception"}]`, Attributes: map[string]string{"a": "span"},
	}
	asked := Span{
		SpanID: 1, Version: 20, FromLog: true, StartTime: at.Add(time.Hour), InputMessageIDs: []uint64{7, 8}, Kind: KindSpan,
		Events: `[{"name":"gen_ai.user.message"}]`, Attributes: map[string]string{"a": "log", "b": "log"},
	}
	answered := Span{
		SpanID: 1, Version: 30, FromLog: true, StartTime: at.Add(time.Minute), InputMessageIDs: []uint64{9}, OutputMessageIDs: []uint64{5},
		Events: `[{"name":"gen_ai.choice"}]`,
	}
	again := asked
	again.Version = 40
	for _, versions := range [][]Span{
		{span, asked, answered}, {asked, answered, span}, {answered, span, asked}, {span, asked, answered, asked, again},
	} {
		folded := Fold(versions)
		require.Len(t, folded, 1)
		got := folded[0]
		assert.Equal(t, "chat", got.Name)
		assert.Equal(t, KindLLM, got.Kind)
		assert.Equal(t, at, got.StartTime)
		assert.Equal(t, at.Add(time.Second), got.EndTime)
		assert.Equal(t, []uint64{7, 8, 9}, got.InputMessageIDs)
		assert.Equal(t, []uint64{5}, got.OutputMessageIDs)
		assert.JSONEq(t, `[{"name":"exception"},{"name":"gen_ai.user.message"},{"name":"gen_ai.choice"}]`, got.Events)
		assert.Equal(t, map[string]string{"a": "span", "b": "log"}, got.Attributes)
		assert.False(t, got.FromLog)
	}
	own := span
	own.InputMessageIDs = []uint64{7}
	assert.Equal(t, []uint64{7}, Fold([]Span{asked, own})[0].InputMessageIDs, "what the span says itself is not there twice")
	assert.Equal(t, []uint64{7, 8}, Fold([]Span{asked})[0].InputMessageIDs, "records whose span has not come are there")
}

func TestModelCalls(t *testing.T) {
	t.Parallel()
	at := func(s Span, id, parent uint64) Span {
		s.SpanID, s.ParentSpanID, s.StartTime = id, parent, time.Unix(int64(id), 0)
		return s
	}
	call := Span{Kind: KindLLM}
	assert.Len(t, ModelCalls([]Span{
		at(Span{Kind: KindAgent}, 1, 0), at(call, 2, 1), at(call, 3, 2), at(call, 4, 1), at(Span{Kind: KindTool}, 5, 4), at(call, 6, 5),
		at(Span{Kind: KindLLM, Counting: CountUsage}, 7, 1), at(Span{Kind: KindLLM, Operation: "fetch_response"}, 8, 1),
	}), 3)
}

func TestEffectiveStatus(t *testing.T) {
	t.Parallel()
	ended := time.Unix(5, 0)
	for name, test := range map[string]struct {
		span Span
		want string
	}{
		"not ended":               {Span{EndTime: Epoch}, StatusRunning},
		"ended":                   {Span{EndTime: ended}, StatusOK},
		"ended after running":     {Span{EndTime: ended, Status: StatusRunning}, StatusOK},
		"an error without status": {Span{EndTime: ended, ErrorType: "Boom"}, StatusError},
		"a stated outcome stands": {Span{EndTime: ended, ErrorType: "Boom", Status: StatusOK}, StatusOK},
		"cancelled":               {Span{Status: StatusCancelled}, StatusCancelled},
	} {
		assert.Equal(t, test.want, test.span.EffectiveStatus(), name)
	}
}

func TestRoot(t *testing.T) {
	t.Parallel()
	span := func(id, parent uint64, isRun bool) Span {
		return Span{SpanID: id, ParentSpanID: parent, IsRun: isRun, StartTime: time.Unix(int64(id), 0), EndTime: time.Unix(99, 0)}
	}
	for name, test := range map[string]struct {
		spans []Span
		want  uint64
	}{
		"the native run":                  {[]Span{span(1, 0, false), span(2, 9, true)}, 2},
		"the earliest without a parent":   {[]Span{span(1, 8, false), span(2, 0, false), span(3, 0, false)}, 2},
		"the earliest with a lost parent": {[]Span{span(3, 9, false), span(2, 9, false), span(4, 3, false)}, 2},
		"the earliest of a circle":        {[]Span{span(1, 2, false), span(2, 1, false)}, 1},
	} {
		assert.Equal(t, test.want, Totals(test.spans).RootSpanID, name)
	}
}

// TestGenAI checks which traces count as GenAI. The order of arrival does not matter, and later versions never undo it.
func TestGenAI(t *testing.T) {
	t.Parallel()
	request := Span{SpanID: 1, Version: 1, Name: "GET /healthz"}
	query := Span{SpanID: 2, ParentSpanID: 1, Version: 2, Name: "SELECT"}
	for name, test := range map[string]struct {
		spans []Span
		want  bool
	}{
		"plain spans":                {[]Span{request, query}, false},
		"a span sent as plain":       {[]Span{request, {SpanID: 3, Kind: KindSpan}}, false},
		"a model call":               {[]Span{request, query, {SpanID: 3, ParentSpanID: 1, Operation: "chat"}}, true},
		"a tool":                     {[]Span{{SpanID: 3, Kind: KindTool}}, true},
		"a kind of the client's own": {[]Span{request, {SpanID: 3, Kind: "acme.step"}}, true},
		"an unknown operation":       {[]Span{request, {SpanID: 3, Operation: "transcribe"}}, true},
		"tokens alone":               {[]Span{request, {SpanID: 3, OutputTokens: number(int64(0))}}, true},
		"input messages alone":       {[]Span{request, {SpanID: 3, InputMessageIDs: []uint64{7}}}, true},
		"output messages alone":      {[]Span{request, {SpanID: 3, OutputMessageIDs: []uint64{7}}}, true},
		"instructions alone":         {[]Span{request, {SpanID: 3, InstructionsID: 7}}, true},
		"tool definitions alone":     {[]Span{request, {SpanID: 3, ToolDefinitionsID: 7}}, true},
		"a native run":               {[]Span{{SpanID: 1, IsRun: true, Kind: KindSpan}}, true},
		"messages in logs":           {[]Span{request, {SpanID: 1, Version: 5, FromLog: true, InputMessageIDs: []uint64{7}}}, true},
		"a call in logs":             {[]Span{request, {SpanID: 4, ParentSpanID: 1, Version: 5, FromLog: true, Kind: KindTool}}, true},
		"other events in logs":       {[]Span{request, {SpanID: 1, Version: 5, FromLog: true}}, false},
		"a later version is plain": {[]Span{
			{SpanID: 3, Version: 1, Kind: KindLLM}, {SpanID: 3, Version: 2, Kind: KindSpan},
		}, true},
	} {
		assert.Equal(t, test.want, Totals(test.spans).GenAI, name)
		slices.Reverse(test.spans)
		assert.Equal(t, test.want, Totals(test.spans).GenAI, name)
	}
}

// TestKindOfRun checks the kind of a run whose root is a plain span.
func TestKindOfRun(t *testing.T) {
	t.Parallel()
	at := func(second int64, s Span) Span {
		s.StartTime = time.Unix(second, 0)
		return s
	}
	request := at(1, Span{SpanID: 1, Name: "POST /chat"})
	guard := at(2, Span{SpanID: 2, ParentSpanID: 1, Kind: KindGuardrail})
	agent := at(3, Span{SpanID: 3, ParentSpanID: 1, Operation: "invoke_agent", AgentName: "support"})
	workflow := at(2, Span{SpanID: 4, ParentSpanID: 1, Kind: KindWorkflow})
	for name, test := range map[string]struct {
		spans []Span
		want  string
	}{
		"an agent":                    {[]Span{request, agent}, KindAgent},
		"an agent after another step": {[]Span{request, guard, agent}, KindAgent},
		"a workflow with an agent":    {[]Span{request, workflow, agent}, KindWorkflow},
		"no agent":                    {[]Span{request, at(2, Span{SpanID: 5, ParentSpanID: 1}), guard}, KindGuardrail},
		"plain spans only":            {[]Span{request, at(2, Span{SpanID: 2, ParentSpanID: 1})}, KindSpan},
		"a root with a kind":          {[]Span{at(1, Span{SpanID: 1, Kind: KindTask}), agent}, KindTask},
	} {
		run := Totals(test.spans)
		assert.Equal(t, test.want, run.Kind, name)
		slices.Reverse(test.spans)
		assert.Equal(t, test.want, Totals(test.spans).Kind, name)
	}
	run := Totals([]Span{request, guard, agent})
	assert.Equal(t, "POST /chat", run.Name)
	assert.Equal(t, "support", run.AgentName)
}

// TestSource checks what a run is made by. Neither the order of arrival nor versions that are sent again matter.
func TestSource(t *testing.T) {
	t.Parallel()
	root := func(version uint64, source string) Span { return Span{SpanID: 1, Version: version, Source: source} }
	step := func(id, version uint64, source string) Span {
		return Span{SpanID: id, ParentSpanID: 1, Version: version, StartTime: time.Unix(int64(id), 0), Source: source}
	}
	for name, test := range map[string]struct {
		spans []Span
		want  string
	}{
		"none":                        {[]Span{root(1, ""), step(2, 2, "")}, SourceUser},
		"the root":                    {[]Span{root(1, SourcePlayground), step(2, 2, "")}, SourcePlayground},
		"the root and another":        {[]Span{root(1, SourceReplay), step(2, 2, SourceEvaluation)}, SourceReplay},
		"the user's root":             {[]Span{root(1, SourceUser), step(2, 2, SourceEvaluation)}, SourceUser},
		"a step":                      {[]Span{root(1, ""), step(2, 2, ""), step(3, 3, SourceEvaluation)}, SourceEvaluation},
		"the first step":              {[]Span{root(1, ""), step(2, 3, SourceReplay), step(3, 2, SourceEvaluation)}, SourceReplay},
		"no root yet":                 {[]Span{step(2, 2, ""), step(3, 1, SourceEvaluation)}, SourceEvaluation},
		"unknown":                     {[]Span{root(1, "batch"), step(2, 2, "")}, SourceUser},
		"unknown, and a step":         {[]Span{root(1, "batch"), step(2, 2, SourceReplay)}, SourceReplay},
		"all":                         {[]Span{root(1, "all")}, SourceUser},
		"in another case":             {[]Span{root(1, "Replay")}, SourceUser},
		"a later version without":     {[]Span{root(1, SourceReplay), root(2, "")}, SourceReplay},
		"a later version with it":     {[]Span{root(1, ""), root(2, SourceReplay)}, SourceReplay},
		"a later version of another":  {[]Span{root(1, SourceReplay), root(2, SourcePlayground)}, SourcePlayground},
		"the same version once more":  {[]Span{root(1, SourceReplay), root(1, SourceReplay), step(2, 2, "")}, SourceReplay},
		"a log that names the source": {[]Span{root(1, ""), {SpanID: 1, Version: 2, FromLog: true, Source: SourceReplay}}, SourceReplay},
	} {
		assert.Equal(t, test.want, Totals(test.spans).Source, name)
		slices.Reverse(test.spans)
		assert.Equal(t, test.want, Totals(test.spans).Source, name)
	}
}
