package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/apikey"
)

// defaultReportTokens is the budget of a report whose request does not say.
const defaultReportTokens = 4000

// GetComparisonReport reads the report of a comparison.
func (h comparisonHandlers) GetComparisonReport(ctx context.Context, req contract.GetComparisonReportRequestObject) (contract.GetComparisonReportResponseObject, error) {
	format := valueOf(req.Params.Format, contract.GetComparisonReportParamsFormatJson)
	if format == contract.GetComparisonReportParamsFormatJunit {
		text, err := h.evaluations.JUnit(ctx, grantOf(ctx), evaluations.Comparison, req.ComparisonId)
		if err != nil {
			return nil, err
		}
		return contract.GetComparisonReport200ApplicationxmlResponse{Body: bytes.NewReader(text), ContentLength: int64(len(text))}, nil
	}
	found, err := h.evaluations.Get(ctx, grantOf(ctx), evaluations.Comparison, req.ComparisonId)
	if err != nil {
		return nil, err
	}
	withInput := grantOf(ctx).Allows(found.ProjectID, apikey.ScopeDatasetsRead)
	report, err := h.evaluations.Report(ctx, grantOf(ctx), req.ComparisonId, valueOf(req.Params.TokenBudget, defaultReportTokens), withInput)
	if err != nil {
		return nil, err
	}
	if format == contract.GetComparisonReportParamsFormatMarkdown {
		text := report.Markdown()
		return contract.GetComparisonReport200TextmarkdownResponse{Body: strings.NewReader(text), ContentLength: int64(len(text))}, nil
	}
	answer := contract.GetComparisonReport200JSONResponse{
		Status: contract.EvaluationStatus(report.Evaluation.Status), Cost: costOf(&report.Cost), Metrics: []contract.ComparisonMetric{},
		Items: make([]contract.EvaluationReportItem, len(report.Items)), ItemsLeftOut: report.LeftOut,
	}
	if err := convert(report.Accounting, &answer.Accounting); err != nil {
		return nil, err
	}
	if report.Summary != nil {
		answer.Sentence = report.Summary.Sentence
		if err := convert(report.Summary.Metrics, &answer.Metrics); err != nil {
			return nil, err
		}
	}
	for i := range report.Items {
		item := &report.Items[i]
		answer.Items[i] = contract.EvaluationReportItem{
			ItemId: item.ItemID, Key: item.Key, Outcome: contract.EvaluationOutcome(item.Outcome), Difference: item.Difference, Input: item.Input,
			OutputA: item.Outputs[0], OutputB: item.Outputs[1],
		}
	}
	return answer, nil
}

// ExportComparison streams the outputs of a comparison.
func (h comparisonHandlers) ExportComparison(ctx context.Context, req contract.ExportComparisonRequestObject) (contract.ExportComparisonResponseObject, error) {
	found, err := h.evaluations.Get(ctx, grantOf(ctx), evaluations.Comparison, req.ComparisonId)
	if err != nil {
		return nil, err
	}
	return &evaluationExport{
		evaluations: h.evaluations, log: h.log, ctx: ctx, e: &found, name: "comparison", csv: valueOf(req.Params.Format, "") == contract.ExportComparisonParamsFormatCsv,
		shown: shownItems{e: &found, contents: grantOf(ctx).Allows(found.ProjectID, apikey.ScopeDatasetsRead)},
	}, nil
}

// ExportEvalRun streams the outputs of an eval-run.
func (h evalRunHandlers) ExportEvalRun(ctx context.Context, req contract.ExportEvalRunRequestObject) (contract.ExportEvalRunResponseObject, error) {
	found, err := h.evaluations.Get(ctx, grantOf(ctx), evaluations.EvalRun, req.EvalRunId)
	if err != nil {
		return nil, err
	}
	return &evaluationExport{
		evaluations: h.evaluations, log: h.comparisons.log, ctx: ctx, e: &found, name: "eval-run", csv: valueOf(req.Params.Format, "") == contract.ExportEvalRunParamsFormatCsv,
		shown: shownItems{e: &found, contents: grantOf(ctx).Allows(found.ProjectID, apikey.ScopeDatasetsRead)},
	}, nil
}

// evaluationExport is an answer whose outputs are read while it is sent.
type evaluationExport struct {
	evaluations EvaluationServices
	log         *slog.Logger
	ctx         context.Context
	e           *evaluations.Evaluation
	name        string
	csv         bool
	shown       shownItems
}

// VisitExportComparisonResponse sends the export, as that of runs is sent.
func (e *evaluationExport) VisitExportComparisonResponse(w http.ResponseWriter) error {
	return e.visit(w)
}

// VisitExportEvalRunResponse sends the export.
func (e *evaluationExport) VisitExportEvalRunResponse(w http.ResponseWriter) error { return e.visit(w) }

func (e *evaluationExport) visit(w http.ResponseWriter) error {
	mediaType, extension := "application/x-ndjson", "jsonl"
	if e.csv {
		mediaType, extension = "text/csv; charset=utf-8", "csv"
	}
	sent := &exportSink{
		request: callOf(e.ctx), w: w, connection: http.NewResponseController(w), mediaType: mediaType, name: fmt.Sprintf("%s-%s.%s", e.name, e.e.ID, extension),
	}
	return sent.send(e.ctx, e.log, e.write)
}

// exportedOutput is a line of an export. Without an output, side is empty.
type exportedOutput struct {
	Number          int64                      `json:"number"`
	ItemID          uuid.UUID                  `json:"item_id"`
	Key             *string                    `json:"key"`
	ItemStatus      string                     `json:"item_status"`
	Reason          *string                    `json:"reason"`
	Input           *contract.JSONValue        `json:"input"`
	ReferenceOutput *contract.JSONValue        `json:"reference_output"`
	Side            string                     `json:"side"`
	Repeat          int                        `json:"repeat"`
	Output          *contract.EvaluationOutput `json:"output"`
	// Preferences are on the line of side b, Labels those of an eval-run.
	Preferences []contract.ComparisonPreference `json:"preferences,omitempty"`
	Labels      []contract.Label                `json:"labels,omitempty"`
}

func (e *evaluationExport) write(to *exportSink) error {
	buffer := bufio.NewWriterSize(to, exportBuffer)
	line, end := e.jsonLines(buffer)
	if e.csv {
		line, end = e.csvLines(buffer)
	}
	if err := e.evaluations.Export(e.ctx, e.e, func(i *evaluations.Item) error {
		if err := to.extend(); err != nil {
			return err
		}
		item, err := e.shown.item(i)
		if err != nil {
			return err
		}
		one := exportedOutput{
			Number: item.Number, ItemID: item.ItemId, Key: item.Key, ItemStatus: string(item.Status), Reason: item.Reason, Input: item.Input, ReferenceOutput: item.ReferenceOutput,
		}
		if len(item.Repeats) == 0 {
			return line(&one)
		}
		for _, repeat := range item.Repeats {
			for side, output := range []*contract.EvaluationOutput{repeat.A, repeat.B} {
				if output == nil {
					continue
				}
				one.Side, one.Repeat, one.Output, one.Preferences, one.Labels = evaluations.SideNames[side], repeat.Repeat, output, nil, nil
				if side == 1 {
					one.Preferences = repeat.Preferences
				}
				for l := range i.Labels {
					if i.Labels[l].Repeat == repeat.Repeat && i.Labels[l].Side == side {
						one.Labels = append(one.Labels, labelOf(&i.Labels[l]))
					}
				}
				if err := line(&one); err != nil {
					return err
				}
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if err := end(); err != nil {
		return fmt.Errorf("end export: %w", err)
	}
	if err := buffer.Flush(); err != nil {
		return fmt.Errorf("send export: %w", err)
	}
	return nil
}

func (*evaluationExport) jsonLines(to io.Writer) (line func(*exportedOutput) error, end func() error) {
	out := json.NewEncoder(to)
	out.SetEscapeHTML(false)
	return func(one *exportedOutput) error { return out.Encode(one) }, func() error { return nil }
}

func (e *evaluationExport) csvLines(to io.Writer) (line func(*exportedOutput) error, end func() error) {
	out := csv.NewWriter(to)
	graders := results.ScoreNames(e.e)
	header := []string{
		"number", "item_id", "key", "item_status", "reason", "input", "reference_output", "side", "repeat", "status", "error", "output", "run_id", "model", "duration_ms",
		"input_tokens", "output_tokens", "cost_usd", "requests",
	}
	for _, name := range graders {
		header = append(header, "score: "+name)
	}
	judged := e.e.VotesTotal > 0
	if judged {
		header = append(header, "panel", "judge", "vote", "order", "vote_status", "vote_value", "vote_label", "vote_score", "vote_pass", "vote_reason", "vote_run_id", "vote_cost_usd")
	}
	begun := false
	return func(one *exportedOutput) error {
			if !begun {
				begun = true
				if err := out.Write(header); err != nil {
					return err //nolint:wrapcheck // the sink does
				}
			}
			record, votes := csvOf(one, graders), one.votes()
			if !judged {
				return out.Write(record) //nolint:wrapcheck // the sink does
			}
			if len(votes) == 0 {
				return out.Write(append(record, make([]string, voteCells)...)) //nolint:wrapcheck // the sink does
			}
			for _, vote := range votes {
				if err := out.Write(append(record[:len(record):len(record)], voteCellsOf(vote)...)); err != nil {
					return err //nolint:wrapcheck // the sink does
				}
			}
			return nil
		}, func() error {
			out.Flush()
			return out.Error() //nolint:wrapcheck // the caller does
		}
}

// votes are those on the output, and of preferences.
func (o *exportedOutput) votes() []*contract.Vote {
	var votes []*contract.Vote
	if o.Output != nil {
		for i := range o.Output.Votes {
			votes = append(votes, &o.Output.Votes[i])
		}
	}
	for i := range o.Preferences {
		for j := range o.Preferences[i].Votes {
			votes = append(votes, &o.Preferences[i].Votes[j])
		}
	}
	return votes
}

// voteCells is how many cells a vote has.
const voteCells = 12

func voteCellsOf(v *contract.Vote) []string {
	pass, run := "", ""
	if v.Pass != nil {
		pass = strconv.FormatBool(*v.Pass)
	}
	if v.RunId != nil {
		run = v.RunId.String()
	}
	reason := v.Reason
	if v.Error != nil {
		reason = v.Error.Code + ": " + v.Error.Detail
	}
	return []string{
		datasetfile.TextCell(v.Panel), datasetfile.TextCell(v.Judge), strconv.Itoa(v.Repeat), string(valueOf(v.Order, "")), string(v.Status), numberCell(v.Value), datasetfile.TextCell(valueOf(v.Label, "")), numberCell(v.Score),
		pass, datasetfile.TextCell(reason), run, numberCell(v.CostUsd),
	}
}

func csvOf(one *exportedOutput, graders []string) []string {
	record := []string{
		strconv.FormatInt(one.Number, 10), one.ItemID.String(), datasetfile.TextCell(valueOf(one.Key, "")), one.ItemStatus, datasetfile.TextCell(valueOf(one.Reason, "")),
		jsonCell(one.Input), jsonCell(one.ReferenceOutput), one.Side, "",
	}
	o := one.Output
	if o == nil {
		return append(record, make([]string, 10+len(graders))...)
	}
	record[len(record)-1] = strconv.Itoa(one.Repeat)
	failure, run := "", ""
	if o.Error != nil {
		failure = datasetfile.TextCell(o.Error.Code + ": " + o.Error.Detail)
	}
	if o.RunId != nil {
		run = o.RunId.String()
	}
	record = append(record, string(o.Status), failure, jsonCell(o.Output), run, datasetfile.TextCell(valueOf(o.Model, "")), numberCell(o.DurationMs),
		integerCell(o.Usage.InputTokens), integerCell(o.Usage.OutputTokens), numberCell(o.CostUsd), strconv.Itoa(o.Requests))
	scores := map[string]*float64{}
	for i := range o.Scores {
		scores[o.Scores[i].Name] = o.Scores[i].Score
	}
	for _, name := range graders {
		record = append(record, numberCell(scores[name]))
	}
	return record
}

// jsonCell returns a value as text: a string as it is, others as JSON, and none as nothing.
func jsonCell(value *contract.JSONValue) string {
	if value == nil {
		return ""
	}
	var text string
	if json.Unmarshal(*value, &text) == nil {
		return datasetfile.TextCell(text)
	}
	return string(*value)
}

func numberCell(value *float64) string {
	if value == nil {
		return ""
	}
	return strconv.FormatFloat(*value, 'g', -1, 64)
}

func integerCell(value *int64) string {
	if value == nil {
		return ""
	}
	return strconv.FormatInt(*value, 10)
}
