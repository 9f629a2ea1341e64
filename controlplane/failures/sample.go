package failures

import (
	"context"
	"slices"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/diff"
	"github.com/looptrace/looptrace/controlplane/runs"
)

// describe adds the counts over time and the samples of groups.
func (s *Service) describe(ctx context.Context, projects access.Projects, w runs.FailureWindow, groups []Group) error {
	if len(groups) == 0 {
		return nil
	}
	byFingerprint := make(map[string]*Group, len(groups))
	for i := range groups {
		byFingerprint[groups[i].Fingerprint] = &groups[i]
	}
	counts, err := s.store.FailureCounts(ctx, projects, w, fingerprintsOf(groups), Parts)
	if err != nil {
		return err
	}
	for _, c := range counts {
		if c.Part >= 0 && c.Part < Parts {
			byFingerprint[c.Fingerprint].Counts[c.Part] = c.Runs
		}
	}
	each := min(sampleEach, max(1, sampleRuns/len(groups)))
	outlines, err := s.store.FailureSample(ctx, projects, w, fingerprintsOf(groups), each, maxSampleSpans)
	if err != nil {
		return err
	}
	byGroup := map[string][]runs.Outline{}
	for _, o := range outlines {
		byGroup[o.Run.Fingerprint] = append(byGroup[o.Run.Fingerprint], o)
	}
	for fingerprint, list := range byGroup {
		if g := byFingerprint[fingerprint]; g != nil {
			if g.Sample, err = sampleOf(ctx, list); err != nil {
				return err
			}
		}
	}
	return nil
}

// sampleOf moves the run to the front that is nearest to all others by its steps, without their texts. The others stay in order, newest
// first.
func sampleOf(ctx context.Context, list []runs.Outline) ([]Run, error) {
	best, least := 0, -1.
	for i := range list {
		if len(list[i].Spans) == 0 {
			continue
		}
		sum := 0.
		for j := range list {
			if i != j && len(list[j].Spans) > 0 {
				d, err := diff.Compare(ctx, withoutTexts(list[i]), withoutTexts(list[j]))
				if err != nil {
					return nil, err
				}
				sum += d.Distance
			}
		}
		if least < 0 || sum < least-1e-12 {
			best, least = i, sum
		}
	}
	sample := make([]Run, 0, len(list))
	for i := range list {
		run := Run{Run: list[i].Run}
		for j := range list[i].Spans {
			if list[i].Spans[j].SpanID == run.FailingSpanID {
				run.Step = &list[i].Spans[j]
			}
		}
		sample = append(sample, run)
	}
	representative := sample[best]
	return slices.Insert(slices.Delete(sample, best, best+1), 0, representative), nil
}

// withoutTexts is a run whose texts were not read.
func withoutTexts(o runs.Outline) diff.Run {
	spans := make([]runs.Span, len(o.Spans))
	for i := range o.Spans {
		spans[i] = runs.Span{Span: o.Spans[i]}
	}
	return diff.Run{Outline: o, Spans: spans}
}
