package upgrade

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// covered are the subjects of the OpenAPI document, one a file, with what a folder has of them.
var covered = map[string]string{
	"account":        "users with changed and reset passwords, ended sessions, a user who left",
	"comparisons":    "two configurations with graders and judges; one that was cancelled and resumed",
	"datasets":       "revisions of items with splits, tags and a schema; items of runs",
	"evalruns":       "eval-runs with judges and labels, with results from outside, cancelled and resumed",
	"failures":       "groups that are muted and resolved",
	"findings":       "a finding that was confirmed and promoted",
	"identity":       "the first user, logged in and out",
	"imports":        "imports of files into a dataset, one with errors",
	"ingest":         "runs as native JSON, as OTLP in both encodings, and from logs",
	"invitations":    "invitations that were accepted, joined, revoked, and one that waits",
	"judges":         "judges with a rubric, ready-made, and with a prompt; the runs of a test",
	"diagnoses":      "a diagnosis that succeeded, and one that was cancelled and deleted",
	"keys":           "keys of several scopes, revoked, rotated and with an expiry",
	"members":        "roles, and an account that is deactivated",
	"nearduplicates": "a check with a pair",
	"organizations":  "organizations and workspaces, renamed and deleted",
	"playground":     "a completion, and a scenario",
	"prices":         "prices of a project, changed and deleted, and costs that were repriced",
	"projects":       "projects with limits, renamed and deleted",
	"prompts":        "versions, aliases with a history, an import",
	"providers":      "connections with an encrypted key and header, and what they spent",
	"replaybatches":  "a batch of replays that was extended, and one that was cancelled",
	"replays":        "a replay with an edit and a verdict, and one that was cancelled and extended",
	"rules":          "a rule that has scored runs, changed and paused",
	"runs":           "runs of all kinds, and a deleted one",
	"scores":         "scores of runs and spans, and a deleted one",
	"threads":        "runs of a session",
	"views":          "saved views",
}

// dataless are the subjects that store nothing, with the reason.
var dataless = map[string]string{
	"agents":     "computed from runs",
	"agentview":  "computed from a run",
	"candidates": "computed from the runs of a failure group, and good ones",
	"diff":       "computed from two runs",
	"instrument": "a guide",
	"mcp":        "tools over the other subjects",
	"openapi":    "the document's beginning, without operations",
	"work":       "a list of what datasets, comparisons, evalruns, replays, batches of them and diagnoses keep",
	"samples":    "a project like others, whose 141 runs would be most of the folder",
	"service":    "the state of the process",
}

// TestSubjects fails for a subject of the OpenAPI document that is neither covered nor stores nothing.
func TestSubjects(t *testing.T) {
	files, err := filepath.Glob("../../controlplane/httpapi/openapi/*.yaml")
	require.NoError(t, err)
	found := map[string]bool{}
	for _, file := range files {
		subject := strings.TrimSuffix(filepath.Base(file), ".yaml")
		found[subject] = true
		_, isCovered := covered[subject]
		_, isDataless := dataless[subject]
		assert.NotEqual(t, isCovered, isDataless, "subject %s: let TestWrite use it and name it in covered, or name it in dataless, not both", subject)
	}
	for _, named := range []map[string]string{covered, dataless} {
		for subject := range named {
			assert.True(t, found[subject], "there is no subject %s", subject)
		}
	}
	all := operations(t)
	for name := range unused {
		assert.True(t, slices.ContainsFunc(all, func(o operation) bool { return o.name == name }), "there is no operation %s", name)
	}
}

// unused are the operations that TestWrite does not use, with the reason.
var unused = map[string]string{
	"callMCP":                  "stores nothing",
	"cancelImport":             "a small import ends before it can be cancelled",
	"cancelNearDuplicateCheck": "a small check ends before it can be cancelled",
	"diffDatasetRevisions":     "computed from revisions, which are read",
	"diffPromptVersions":       "computed from versions, which are read",
	"diffRuns":                 "computed from runs, which are read",
	"diffReplay":               "computed from runs, which are read",
	"getAgentView":             "computed from a run, which is read",
	"getDocs":                  "stores nothing",
	"getInstrumentGuide":       "stores nothing",
	"getLLMsText":              "stores nothing",
	"getMetrics":               "stores nothing",
	"getOpenAPI":               "stores nothing",
	"getReplayability":         "computed from a run; runs have its level",
	"healthz":                  "stores nothing",
	"listJudges":               "a list of this release",
	"listProviderModels":       "what the provider lists",
	"listUnpricedModels":       "of the last seven days",
	"loadSamples":              "its 141 runs would be most of the folder",
	"readyz":                   "stores nothing",
	"streamPrompts":            "what happens meanwhile",
	"streamRuns":               "what happens meanwhile",
}

// empty are the tables without rows in a folder, with the reason.
var empty = map[string]string{
	"experiment_runs":    "what waits to be read",
	"import_chunks":      "the file of an import that runs",
	"import_rows":        "the rows of an import that runs",
	"login_attempts":     "what delays further logins",
	"replay_steps":       "the steps of an attempt that runs",
	"river_notification": "what waits to be told",
}

// operations are those of the OpenAPI document. Of two whose paths fit, the one with fewer parameters is first.
func operations(t *testing.T) []operation {
	t.Helper()
	all, err := readOperations()
	require.NoError(t, err)
	return all
}

var readOperations = sync.OnceValues(func() ([]operation, error) {
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `yaml:"operationId"`
		}
	}
	if err := yaml.Unmarshal(contract.Document, &document); err != nil {
		return nil, err
	}
	var all []operation
	for path, methods := range document.Paths {
		for method, o := range methods {
			if o.OperationID != "" {
				all = append(all, newOperation(o.OperationID, strings.ToUpper(method), path))
			}
		}
	}
	slices.SortFunc(all, func(a, b operation) int {
		return cmp.Or(strings.Count(a.path, "{")-strings.Count(b.path, "{"), strings.Compare(a.path, b.path), strings.Compare(a.method, b.method))
	})
	return all, nil
})
