package runmodel

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// ScoreFailure says when the newest score of a whole run under a name means that the run failed. A project has one for some names. For all
// other names the boolean false does.
type ScoreFailure struct {
	Name string         `json:"name"`
	When ScoreFailsWhen `json:"when"`
	// Bound is that of ScoreBelow and ScoreAbove.
	Bound *float64 `json:"bound,omitempty"`
	// Categories are those of ScoreInCategories.
	Categories []string `json:"categories,omitempty"`
}

// FailureRules say which scores fail the runs of a project, and which of AllSignals are not looked for.
type FailureRules struct {
	Scores     []ScoreFailure
	SignalsOff []string
}

// ScoreFailsWhen is when a score fails its run.
type ScoreFailsWhen string

// When a score fails its run. Booleans count as 0 and 1 beside a bound.
const (
	ScoreBelow        ScoreFailsWhen = "below"
	ScoreAbove        ScoreFailsWhen = "above"
	ScoreInCategories ScoreFailsWhen = "categories"
	ScoreTrue         ScoreFailsWhen = "true"
	ScoreNever        ScoreFailsWhen = "never"
)

// FailedScore is a score that fails its run. The value is that of Score.
type FailedScore struct {
	Name      string   `ch:"score"`
	ValueKind string   `ch:"value_kind"`
	Number    *float64 `ch:"number"`
	Label     string   `ch:"label"`
}

// Value returns the value as [Score.Value] does.
func (s *FailedScore) Value() any {
	score := Score{ValueKind: s.ValueKind, Number: s.Number, Label: s.Label}
	return score.Value()
}

// ScoreFingerprint is the prefix of the fingerprints of runs that only a score fails. The hashes of the score's name and of the agent's or
// the run's name follow, so that readers of runs can compare each by itself.
const ScoreFingerprint = "fp:s1:"

// scoreHash is how many bytes of a hash a fingerprint has.
const scoreHash = 8

// FailByScores gives a run the failure of its scores, which are in the order of their names. A run that failed otherwise keeps its failure.
func (r *Run) FailByScores(scores []FailedScore) {
	r.FailedScores = scores
	if len(scores) == 0 || r.Fingerprint != "" || r.Status == StatusRunning {
		return
	}
	name := scores[0].Name
	r.Failure = Failure{
		Fingerprint: ScoreFingerprint + shortHash(name) + r.PeersHash(), Class: FailureScored, FailingSpanID: r.RootSpanID,
		FailingKind: FailingScore, FailingName: name, FailingTemplate: ScoredAsFailed,
	}
}

// ScoredAsFailedBy says which scores fail the run, such as "scored as failed: reward 0, solved false". It is empty if none does.
func (r *Run) ScoredAsFailedBy() string {
	scores := make([]string, len(r.FailedScores))
	for i := range r.FailedScores {
		scores[i] = fmt.Sprint(r.FailedScores[i].Name, " ", r.FailedScores[i].Value())
	}
	if len(scores) == 0 {
		return ""
	}
	return ScoredAsFailed + ": " + strings.Join(scores, ", ")
}

// FailingKind and FailingTemplate of a run that a score fails. FailingName is the name of the score.
const (
	FailingScore   = "score"
	ScoredAsFailed = "scored as failed"
)

// scorePeersName is how many bytes of a name go into a fingerprint. Lists cut names behind that.
const scorePeersName = 200

// scorePeers names the runs that share their fingerprint if the same score fails them.
func (r *Run) scorePeers() string {
	if r.AgentName != "" {
		return "agent " + r.AgentName[:min(len(r.AgentName), scorePeersName)]
	}
	return "run " + r.Name[:min(len(r.Name), scorePeersName)]
}

// PeersHash stands for the runs that a run is compared with: those of its agent, or of its name if it has no agent.
func (r *Run) PeersHash() string { return shortHash(r.scorePeers()) }

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:scoreHash])
}

// SQL that makes the same hashes of the columns of runs, and of the name of a score in the column score.
const (
	ScoreHashSQL = `lower(hex(substring(SHA256(score), 1, 8)))`
	PeersHashSQL = `lower(hex(substring(SHA256(if(agent_name != '', concat('agent ', substring(agent_name, 1, 200)), concat('run ', substring(name, 1, 200)))), 1, 8)))`
)

// SplitScoreFingerprint returns the two hashes of a fingerprint of scores. ok is false if it is none.
func SplitScoreFingerprint(fingerprint string) (score, peers string, ok bool) {
	const digits = 2 * scoreHash
	if len(fingerprint) != len(ScoreFingerprint)+2*digits || fingerprint[:len(ScoreFingerprint)] != ScoreFingerprint {
		return "", "", false
	}
	return fingerprint[len(ScoreFingerprint) : len(ScoreFingerprint)+digits], fingerprint[len(ScoreFingerprint)+digits:], true
}
