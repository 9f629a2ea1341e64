package runmodel

import (
	"math"
	"strconv"
	"strings"
)

// MetadataSampleShare is the metadata of a span, and of its run, that says for which share of all such traces a sampler kept it:
// "0.1" is a tenth. A run that stands for itself has none.
const MetadataSampleShare = "looptrace.sample_share"

// SampleShare returns the share of traces that samplers keep like this one, from the trace state of a span: 1 if it states none,
// or something that is not a threshold. The threshold th of the entry ot is the part of 2^56 that is not kept, in up to 14
// hexadecimal digits without the zeros at its end
// (https://opentelemetry.io/docs/specs/otel/trace/tracestate-handling/#sampling-threshold-value-th).
func SampleShare(traceState string) float64 {
	const digits, all = 14, 1 << 56
	for entry := range strings.SplitSeq(traceState, ",") {
		fields, isOTel := strings.CutPrefix(strings.TrimSpace(entry), "ot=")
		if !isOTel {
			continue
		}
		for field := range strings.SplitSeq(fields, ";") {
			threshold, isThreshold := strings.CutPrefix(field, "th:")
			if !isThreshold || len(threshold) > digits {
				continue
			}
			dropped, err := strconv.ParseUint(threshold+strings.Repeat("0", digits-len(threshold)), 16, 64)
			if err != nil || threshold == "" {
				return 1
			}
			return 1 - float64(dropped)/all
		}
	}
	return 1
}

// FormatSampleShare formats a share for MetadataSampleShare, with the three digits that samplers keep of it.
func FormatSampleShare(share float64) string { return strconv.FormatFloat(share, 'g', 3, 64) }

// parseSampleShare returns the share of FormatSampleShare, nil if the text is none.
func parseSampleShare(text string) *float64 {
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(share) || share <= 0 || share >= 1 {
		return nil
	}
	return &share
}
