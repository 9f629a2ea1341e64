package runmodel

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSampleShare(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		"":                             "1",
		"vendor=abc":                   "1",
		"ot=th:0":                      "1",
		"ot=th:8":                      "0.5",
		"ot=th:c":                      "0.25",
		"ot=th:e666":                   "0.1",
		"ot=th:fd70a3d70a3d71":         "0.01",
		"ot=rv:6e6d1a75832a2f;th:e666": "0.1",
		"vendor=abc, ot=p:8;th:8":      "0.5",
		"ot=th:":                       "1",
		"ot=th:xyz":                    "1",
		"ot=th:123456789012345":        "1",
	} {
		assert.Equal(t, want, FormatSampleShare(SampleShare(state)), state)
	}
	for _, text := range []string{"", "1", "0", "-1", "NaN", "half"} {
		assert.Nil(t, parseSampleShare(text), text)
	}
	assert.InDelta(t, 0.1, *parseSampleShare("0.1"), 0)
}

// A run stands for the least share of its spans: samplers at several places keep it only together.
func TestSampleShareOfARun(t *testing.T) {
	t.Parallel()
	span := func(id uint64, share string) Span {
		s := Span{SpanID: id, Name: "step", Kind: KindTask}
		if share != "" {
			s.Metadata = map[string]string{MetadataSampleShare: share}
		}
		return s
	}
	run := Totals([]Span{span(1, ""), span(2, "0.5"), span(3, "0.1"), span(4, "0.25"), span(5, "what?")})
	assert.InDelta(t, 0.1, *run.SampleShare, 0)
	assert.Equal(t, "0.1", run.Metadata[MetadataSampleShare])
	whole := Totals([]Span{span(1, "")})
	assert.Nil(t, whole.SampleShare)
	assert.NotContains(t, whole.Metadata, MetadataSampleShare)
}
