package neardup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type item struct{ input, split string }

func reader(items []item) Read {
	return func(ctx context.Context, numbers []int, each func(int, []byte) error) error {
		for _, n := range numbers {
			if err := each(n, []byte(items[n].input)); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
}

// findAll finds the near-duplicates of all items, which are also the sample.
func findAll(t *testing.T, threshold float64, items []item) Result {
	t.Helper()
	f, err := New(threshold, len(items))
	require.NoError(t, err)
	for _, i := range items {
		require.NoError(t, f.Sample([]byte(i.input)))
	}
	for _, i := range items {
		require.NoError(t, f.Add([]byte(i.input), i.split))
	}
	result, err := f.Find(t.Context(), reader(items))
	require.NoError(t, err)
	return result
}

// similarityOf is the similarity of two inputs by the definition, without signatures.
func similarityOf(t *testing.T, a, b string) float64 {
	t.Helper()
	type sets struct{ words, chars []uint64 }
	read := func(input string) sets {
		var d document
		require.NoError(t, d.read([]byte(input)))
		return sets{slices.Clone(d.wordShingles()), slices.Clone(d.charShingles())}
	}
	x, y := read(a), read(b)
	if len(x.words) < longFrom && len(y.words) < longFrom {
		return similarity(x.chars, y.chars)
	}
	return similarity(x.words, y.words)
}

func text(t *testing.T, words ...string) string {
	t.Helper()
	quoted, err := json.Marshal(strings.Join(words, " "))
	require.NoError(t, err)
	return string(quoted)
}

func TestSimilarity(t *testing.T) {
	t.Parallel()
	long := "The quick brown fox jumps over the lazy dog while seven wizards quietly examine a box of jars " +
		"that the old shopkeeper left behind the counter on the evening before the market closed for winter."
	for name, c := range map[string]struct {
		a, b     string
		low, top float64
	}{
		"case, space and sentence marks":  {`"What is the  capital of France?"`, `"what is the capital of france"`, 1, 1},
		"quotation marks and apostrophes": {`"What's “this”, then?"`, `"whats this then"`, 1, 1},
		"canonical Unicode":               {`"Caf\u00e9 de Paris, please"`, `"cafe\u0301 de paris please"`, 1, 1},
		"order of members":                {`{"a":"one two","b":"three"}`, `{"b":"three","a":"one two"}`, 1, 1},
		"a number and its text":           {`3.5`, `"3.5"`, 1, 1},
		"numbers":                         {`1`, `2`, 0, 0},
		"numbers with a point":            {`3.5`, `35`, 0, 0},
		"a negative number":               {`"it is -5 degrees outside now"`, `"it is 5 degrees outside now"`, 0, 0},
		"short answers":                   {`"1"`, `"2"`, 0, 0},
		"short words":                     {`"yes"`, `"no"`, 0, 0},
		"two words":                       {`"option a"`, `"option b"`, 0, 0},
		"symbols":                         {`"is C better than Go"`, `"is C++ better than Go"`, 0.6, 0.95},
		"operators":                       {`"1 + 2"`, `"1 - 2"`, 0, 0.5},
		"members with the values of other members": {`{"age":30,"income":50}`, `{"age":50,"income":30}`, 0, 0},
		"Booleans of other members":                {`{"a":true,"b":false,"c":true}`, `{"a":false,"b":true,"c":true}`, 0, 0.5},
		"only the names of members":                {`{"question":"What is love?"}`, `{"question":"Who are you?"}`, 0, 0.1},
		"messages with the same roles": {
			`{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Name a river in Peru"}]}`,
			`{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Why do cats purr at night"}]}`, 0, 0.6,
		},
		"capitals":                  {`{"question":"What is the capital of France?"}`, `{"question":"What is the capital of Italy?"}`, 0.5, 0.75},
		"a typing error":            {`"Which planet of the solar system has the most moons today"`, `"Which planet of the solar system has the most mons today"`, 0.85, 0.98},
		"short texts, other number": {`"Tom has 5 apples and eats one of them, how many are left"`, `"Tom has 7 apples and eats one of them, how many are left"`, 0, 0},
		"one word of a long text":   {text(t, long), text(t, strings.Replace(long, "wizards", "witches", 1)), 0.8, 0.95},
		"unlike long texts":         {text(t, long), text(t, strings.Repeat("Something else is said here, word after word, and it goes on and on. ", 4)), 0, 0.02},
		"Chinese":                   {`"请问中国的首都是哪里"`, `"请问中国的首都在哪里"`, 0.5, 0.9},
		"Chinese, other":            {`"请问中国的首都是哪里"`, `"今天天气怎么样啊朋友"`, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := similarityOf(t, c.a, c.b)
			assert.GreaterOrEqual(t, got, c.low)
			assert.LessOrEqual(t, got, c.top)
			assert.InDelta(t, got, similarityOf(t, c.b, c.a), 0, "it is symmetrical")
		})
	}
}

// TestRecall states how many pairs are found.
func TestRecall(t *testing.T) {
	t.Parallel()
	for threshold := MinThreshold; threshold <= 1; threshold += 0.01 {
		require.GreaterOrEqual(t, Recall(threshold, threshold), minRecall, "at %v", threshold)
		require.LessOrEqual(t, bands*schemeFor(threshold).rows, len(schemeFor(threshold).multipliers))
		before := 0.0
		for s := 0.0; s <= 1; s += 0.05 {
			at := Recall(threshold, s)
			require.GreaterOrEqual(t, at, before-1e-9)
			before = at
		}
	}
	assert.InDelta(t, 0.9904, Recall(0.8, 0.8), 0.0005)
	assert.Greater(t, Recall(0.8, 0.9), 0.99999)
	assert.Less(t, Recall(0.8, 0.3), 2e-4)
}

// corpus makes texts of which some are edits of others.
func corpus(t *testing.T, random *rand.Rand, n, fewest, most int) []item {
	t.Helper()
	vocabulary := make([]string, 3000)
	for i := range vocabulary {
		letters := make([]byte, 3+random.IntN(7))
		for j := range letters {
			letters[j] = byte('a' + random.IntN(26))
		}
		vocabulary[i] = string(letters)
	}
	pick := func() string { return vocabulary[int(float64(len(vocabulary))*math.Pow(random.Float64(), 2))] }
	var items []item
	for len(items) < n {
		words := make([]string, fewest+random.IntN(most-fewest+1))
		for i := range words {
			words[i] = pick()
		}
		splits := []string{"train", "test", ""}
		items = append(items, item{text(t, words...), splits[random.IntN(3)]})
		for range random.IntN(3) {
			edited := slices.Clone(words)
			for range 1 + random.IntN(1+len(words)/8) {
				switch at := random.IntN(len(edited)); random.IntN(3) {
				case 0:
					edited[at] = pick()
				case 1:
					edited = slices.Delete(edited, at, at+1)
				default:
					edited = slices.Insert(edited, at, pick())
				}
			}
			items = append(items, item{text(t, edited...), splits[random.IntN(3)]})
		}
	}
	slices.SortStableFunc(items, func(a, b item) int { return strings.Compare(a.input, b.input) })
	items = slices.CompactFunc(items, func(a, b item) bool { return a.input == b.input })
	random.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	return items
}

// TestAgainstAllPairs compares what is found with a comparison of all pairs: all that is found is true, and what is missed is within the
// promised recall.
func TestAgainstAllPairs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		threshold    float64
		fewest, most int
	}{
		{"long", 0.8, 30, 200}, {"long, half", 0.5, 30, 120}, {"short", 0.8, 3, 18}, {"short, 0.6", 0.6, 3, 18}, {"around the limit", 0.7, 14, 32}, {"high", 0.95, 60, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			items := corpus(t, rand.New(rand.NewPCG(7, 11)), 1500, c.fewest, c.most)
			found := findAll(t, c.threshold, items)
			require.Empty(t, found.Shared)
			require.Zero(t, found.PartlyCompared)
			type sets struct {
				words, chars []uint64
			}
			all := make([]sets, len(items))
			for i := range items {
				var d document
				require.NoError(t, d.read([]byte(items[i].input)))
				all[i] = sets{slices.Clone(d.wordShingles()), slices.Clone(d.charShingles())}
			}
			want, expected := map[[2]int]float64{}, 0.0
			for b := range all {
				for a := range b {
					s := similarity(all[a].words, all[b].words)
					if len(all[a].words) < longFrom && len(all[b].words) < longFrom {
						s = similarity(all[a].chars, all[b].chars)
					}
					if s >= c.threshold {
						want[[2]int{a, b}] = s
						expected += Recall(c.threshold, s)
					}
				}
			}
			require.Greater(t, len(want), 20, "the corpus has too few")
			require.EqualValues(t, len(found.Listed), found.Pairs)
			for _, p := range found.Listed {
				s, is := want[[2]int{p.A, p.B}]
				require.True(t, is, "%v is not similar", p)
				require.InDelta(t, s, p.Similarity, 1e-12)
				x, y := items[p.A].split, items[p.B].split
				require.Equal(t, x != "" && y != "" && x != y, p.Across)
			}
			missed := len(want) - len(found.Listed)
			t.Logf("%d of %d pairs found, %.1f expected", len(found.Listed), len(want), expected)
			assert.LessOrEqual(t, float64(missed), float64(len(want))-expected+3*math.Sqrt(float64(len(want))-expected+1), "more are missed than three deviations allow")
		})
	}
}

// TestEqualItems has the same input many times.
func TestEqualItems(t *testing.T) {
	t.Parallel()
	var items []item
	for i := range 5000 {
		items = append(items, item{`{"q":"How do I reset my  password?"}`, []string{"train", "train", "test", ""}[i%4]})
	}
	items = append(items, item{`{"q":"Something else entirely, is it not?"}`, "test"}, item{`{"q":""}`, "test"}, item{`null`, ""})
	found := findAll(t, 0.8, items)
	assert.EqualValues(t, 5003, found.Items)
	assert.EqualValues(t, 2, found.WithoutText)
	assert.EqualValues(t, 5000*4999/2, found.Pairs)
	assert.EqualValues(t, 2500*1250, found.PairsAcross)
	assert.Zero(t, found.PartlyCompared)
	seen, across := map[int]bool{}, map[int]bool{}
	unique := map[Pair]bool{}
	for _, p := range found.Listed {
		require.False(t, unique[p], "%v is listed twice", p)
		unique[p] = true
		require.InDelta(t, 1, p.Similarity, 0)
		seen[p.A], seen[p.B] = true, true
		if p.Across {
			across[p.A], across[p.B] = true, true
		}
	}
	assert.Len(t, seen, 5000)
	assert.Len(t, across, 3750, "each item with a split is listed with one of another split")
}

// TestSimilarToEqualItems counts the pairs of all items that are equal to similar ones.
func TestSimilarToEqualItems(t *testing.T) {
	t.Parallel()
	a, b := `"Which planet of the solar system has the most moons today"`, `"Which planet of the solar system has the most moons"`
	found := findAll(t, 0.8, []item{{a, "train"}, {b, "train"}, {a, "test"}, {b, ""}})
	assert.EqualValues(t, 6, found.Pairs)
	assert.EqualValues(t, 2, found.PairsAcross)
	var pairs [][2]int
	for _, p := range found.Listed {
		pairs = append(pairs, [2]int{p.A, p.B})
	}
	assert.Equal(t, [][2]int{{0, 2}, {1, 2}, {1, 3}, {0, 1}}, pairs, "across splits first")
}

// TestManySimilarItems has thousands of texts that are all similar to each other. Their pairs are not all compared, and that is said.
func TestManySimilarItems(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	base := strings.Fields(strings.Repeat("when an order arrives late the clerk of the shop must ", 1) +
		"look at the address ask the driver by telephone write an answer to the customer and close the case before the evening of the same day with a note for the manager who reads it")
	var items []item
	for i := range 4000 {
		words := slices.Clone(base)
		words[random.IntN(len(words))] = fmt.Sprintf("word%d", i)
		items = append(items, item{text(t, words...), []string{"train", "test"}[i%2]})
	}
	found := findAll(t, 0.7, items)
	assert.Greater(t, found.PartlyCompared, int64(3900))
	assert.Len(t, found.Listed, min(MaxListed, int(found.Pairs)))
	assert.Less(t, found.Pairs, int64(4000*40*bands/2))
	flagged := map[int]bool{}
	for _, p := range found.Listed {
		flagged[p.A], flagged[p.B] = true, true
		require.InDelta(t, similarityOf(t, items[p.A].input, items[p.B].input), p.Similarity, 1e-12)
	}
	t.Logf("%d pairs, %d of 4000 items flagged among %d listed", found.Pairs, len(flagged), len(found.Listed))
}

// TestManyShortItems has thousands of short inputs that are alike but for a number, which makes them unlike. Their shingles of words, which
// only serve to find longer inputs, hide none of them.
func TestManyShortItems(t *testing.T) {
	t.Parallel()
	var items []item
	for i := range 3000 {
		items = append(items, item{text(t, fmt.Sprintf("what became of order %d which was sent to the old shop in the long street next to the station", i)), ""})
	}
	long := "what became of order 2999 which was sent to the old shop in the long street next to the station on Monday at ten"
	items = append(items, item{text(t, long), ""})
	found := findAll(t, 0.8, items)
	assert.Zero(t, found.PartlyCompared)
	require.Len(t, found.Listed, 1)
	assert.Equal(t, [2]int{2999, 3000}, [2]int{found.Listed[0].A, found.Listed[0].B})
	assert.InDelta(t, similarityOf(t, items[2999].input, items[3000].input), found.Listed[0].Similarity, 1e-12)
}

// TestSharedValues leaves out what nearly all inputs have.
func TestSharedValues(t *testing.T) {
	t.Parallel()
	system := strings.Repeat("You are a helpful assistant of a shop and answer politely and briefly. ", 5)
	random := rand.New(rand.NewPCG(3, 4))
	var items []item
	for _, i := range corpus(t, random, 40, 25, 40) {
		items = append(items, item{`{"model":"m","messages":[{"role":"system","content":"` + system + `"},{"role":"user","content":` + i.input + `}]}`, i.split})
	}
	found := findAll(t, 0.8, items)
	var members []string
	for _, v := range found.Shared {
		members = append(members, v.Member)
		assert.InDelta(t, 1, v.Share, 1e-9)
	}
	assert.Equal(t, []string{"messages[].content", "messages[].role", "messages[].role", "model"}, members)
	for _, p := range found.Listed {
		require.GreaterOrEqual(t, similarityOf(t, items[p.A].input, items[p.B].input), 0.8)
	}
	assert.Less(t, found.Pairs, int64(len(items)*2), "the system prompt makes nothing similar")

	nine := findAll(t, 0.8, items[:9])
	assert.Empty(t, nine.Shared, "too few inputs say nothing about what is shared")
	same := findAll(t, 0.8, slices.Repeat(items[:1], 50))
	assert.Empty(t, same.Shared, "the same input many times shares nothing")
	assert.EqualValues(t, 50*49/2, same.Pairs)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, threshold := range []float64{0.49, 1.01, math.NaN()} {
		_, err := New(threshold, 0)
		require.Error(t, err)
	}
	f, err := New(0.8, 0)
	require.NoError(t, err)
	require.Error(t, f.Add([]byte(`{"a":`), ""))
	require.Error(t, f.Sample([]byte(`x`)))

	items := []item{{`"one two three four"`, ""}, {`"one two three  four five"`, ""}}
	f, err = New(0.5, 2)
	require.NoError(t, err)
	for _, i := range items {
		require.NoError(t, f.Add([]byte(i.input), i.split))
	}
	broken := errors.New("broken")
	_, err = f.Find(t.Context(), func(context.Context, []int, func(int, []byte) error) error { return broken })
	require.ErrorIs(t, err, broken)
	_, err = f.Find(t.Context(), func(context.Context, []int, func(int, []byte) error) error { return nil })
	require.ErrorContains(t, err, "was not read again")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = f.Find(ctx, reader(items))
	require.ErrorIs(t, err, context.Canceled)
}
