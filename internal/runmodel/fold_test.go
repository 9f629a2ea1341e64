package runmodel

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func number[T any](v T) *T { return &v }

// TestOverlayCoversEveryField fails when a field is added to Span and forgotten in the fold.
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
			newer.CostUSD = new(float64) // without a cost they say nothing
		}
		value := reflect.ValueOf(&newer).Elem().Field(i)
		switch field.Type.Kind() {
		case reflect.String:
			value.SetString("x")
		case reflect.Uint64:
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
		// And what a newer version does not carry stays.
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
	} {
		assert.Equal(t, test.want, CountsUsage(test.spans), name)
	}
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
