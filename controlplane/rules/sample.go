package rules

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// sampleOf returns what is scored of a run, without its tool calls. skipped is why it cannot be scored, or empty.
func sampleOf(source *runs.Source) (sample *grader.Sample, skipped string, err error) {
	run := &source.Run
	sample = &grader.Sample{}
	switch {
	case source.TooLarge:
		return sample, fmt.Sprintf("has more than %d MiB of contents", runs.MaxSource>>20), nil
	case run.Status == runmodel.StatusRunning:
		return sample, "has not ended", nil
	}
	members, err := source.Document()
	if err != nil {
		return nil, "", fmt.Errorf("read run %s: %w", run.RunID, err)
	}
	for _, member := range members {
		switch member.Name {
		case "input":
			sample.Input = member.Value
		case "output":
			sample.Output = member.Value
		case "metadata":
			err = json.Unmarshal(member.Value, &sample.Metadata)
		}
		if err != nil {
			return nil, "", fmt.Errorf("read the metadata of run %s: %w", run.RunID, err)
		}
	}
	if sample.Output == nil {
		return sample, "has no output: " + source.NotRecorded("output"), nil
	}
	sample.InputTokens, sample.OutputTokens = run.InputTokens, run.OutputTokens
	if cost := run.CostUSD; cost != nil && run.UnpricedCallCount == 0 && !math.IsNaN(*cost) && *cost >= 0 {
		sample.CostUSD = cost // a cost without that of some calls is not known
	}
	if !runmodel.IsAbsent(run.EndTime) && !run.EndTime.Before(run.StartTime) {
		sample.Duration = new(run.EndTime.Sub(run.StartTime))
	}
	return sample, "", nil
}
