package report

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/optional"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// The elements of JUnit's XML.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
		Out      string      `xml:"system-out"`
	}
	junitCase struct {
		Class      string          `xml:"classname,attr"`
		Name       string          `xml:"name,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Failure    *junitMessage   `xml:"failure"`
		Error      *junitMessage   `xml:"error"`
		Skipped    *junitMessage   `xml:"skipped"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit returns an evaluation as JUnit's XML, with a test case for each item. Of an eval-run one that does not pass is a failure. Of a
// comparison the verdict is a case of its own, which fails if B is worse: single items also regress by chance, and have the outcome as a
// property. An item without a score is an error.
func (s *Reporter) JUnit(ctx context.Context, grant access.Grant, kind evaluations.Type, id uuid.UUID) ([]byte, error) {
	e, err := s.evaluations.Get(ctx, grant, kind, id)
	if err != nil {
		return nil, err
	}
	suite := junitSuite{Name: e.Name}
	if e.Summary != nil {
		var summary struct {
			Sentence string `json:"sentence"`
		}
		if err := json.Unmarshal([]byte(*e.Summary), &summary); err != nil {
			return nil, fmt.Errorf("read the summary of evaluation %s: %w", e.ID, err)
		}
		suite.Out = summary.Sentence
	}
	if e.Kind == evaluations.Comparison && e.Summary != nil {
		if err := suite.addVerdict(&e); err != nil {
			return nil, err
		}
	}
	if err := s.evaluations.Export(ctx, &e, func(i *evaluations.Item) error {
		suite.add(&e, i)
		return nil
	}); err != nil {
		return nil, err
	}
	out, err := xml.MarshalIndent(&suite, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode JUnit: %w", err)
	}
	return append([]byte(xml.Header), append(out, '\n')...), nil
}

// addVerdict adds the case of the primary metric.
func (suite *junitSuite) addVerdict(e *evaluations.Evaluation) error {
	summary, err := results.ReadSummary(e)
	if err != nil {
		return err
	}
	primary := summary.Primary()
	if primary == nil {
		return nil
	}
	one := junitCase{Class: e.DatasetName, Name: "verdict on " + primary.Name, Properties: []junitProperty{{"verdict", string(primary.Verdict)}}}
	if primary.Verdict == compare.ABetter {
		one.Failure = &junitMessage{Message: "B is worse than A on " + primary.Name, Text: summary.Sentence}
		suite.Failures++
	}
	suite.Tests++
	suite.Cases = append(suite.Cases, one)
	return nil
}

func (suite *junitSuite) add(e *evaluations.Evaluation, i *evaluations.Item) {
	one := junitCase{Class: e.DatasetName, Name: i.ItemID.String()}
	if i.Key != nil {
		one.Name = *i.Key
	}
	found := reportItem(e, i, false)
	switch {
	case i.Status == evaluations.ItemSkipped:
		one.Skipped = &junitMessage{Message: optional.Value(i.Reason)}
		suite.Skipped++
	case i.Status == evaluations.ItemPending:
		one.Skipped = &junitMessage{Message: "not done"}
		suite.Skipped++
	case i.Status != evaluations.ItemScored && e.Kind == evaluations.EvalRun:
		one.Error = &junitMessage{Message: string(i.Status), Text: evalRunReportItem(e, i, false).Reason}
		suite.Errors++
	case i.Status != evaluations.ItemScored:
		one.Error = &junitMessage{Message: string(i.Status), Text: "A: " + found.Outputs[evaluations.SideA] + "\nB: " + found.Outputs[evaluations.SideB]}
		suite.Errors++
	case e.Kind == evaluations.EvalRun:
		if failed := failedOutputs(i, optional.Value(e.PrimaryMetric)); failed != "" {
			one.Failure = &junitMessage{Message: failed, Text: dissent(i)}
			suite.Failures++
		}
	case found.Difference != nil:
		one.Properties = []junitProperty{{"outcome", string(found.Outcome)}, {"difference", fmt.Sprintf("%+.4g", *found.Difference)}}
	}
	suite.Tests++
	suite.Cases = append(suite.Cases, one)
}

// failedOutputs says that an output of the item does not pass by a metric, empty if none of them fails.
func failedOutputs(i *evaluations.Item, metric string) string {
	failed, judged := 0, 0
	for o := range i.Outputs {
		scores, err := i.Outputs[o].ReadScores()
		if err != nil {
			return err.Error()
		}
		for _, s := range scores {
			if s.Name == metric && s.Pass != nil {
				judged++
				if !*s.Pass {
					failed++
				}
			}
		}
	}
	if failed == 0 {
		return ""
	}
	return fmt.Sprintf("%s fails in %d of %d outputs", metric, failed, judged)
}
