package duplicates_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

const checkTime = 30 * time.Second

// nearDuplicates reads the pairs. query begins with a question mark, or is empty.
func nearDuplicates(t *testing.T, e *apitest.Env, as apitest.Option, dataset uuid.UUID, query string) contract.NearDuplicatePage {
	t.Helper()
	return apitest.Must[contract.NearDuplicatePage](t, e.Do(t, http.MethodGet, "/v1/datasets/"+dataset.String()+"/near-duplicates"+query, nil, as), http.StatusOK)
}

// checked waits for the end of the check that was started last.
func checked(t *testing.T, e *apitest.Env, as apitest.Option, dataset uuid.UUID) (page contract.NearDuplicatePage) {
	t.Helper()
	require.Eventually(t, func() bool {
		page = nearDuplicates(t, e, as, dataset, "")
		return page.Check != nil && page.Check.FinishedAt != nil
	}, checkTime, 50*time.Millisecond)
	return page
}

// splitItems makes a dataset whose items are given as split=input.
func splitItems(t *testing.T, e *apitest.Env, as apitest.Option, project uuid.UUID, name string, items ...string) uuid.UUID {
	t.Helper()
	id := e.CreateDataset(t, as, project, name).Id
	list := make([]any, len(items))
	for i, item := range items {
		split, input, _ := strings.Cut(item, "=")
		one := map[string]any{"key": fmt.Sprint("k", i), "input": map[string]any{"question": input}}
		if split != "" {
			one["split"] = split
		}
		list[i] = one
	}
	w := e.Do(t, http.MethodPost, "/v1/datasets/"+id.String()+"/items", map[string]any{"items": list}, as)
	apitest.Must[contract.DatasetWritten](t, w, http.StatusCreated)
	return id
}

// keysOfPairs returns pairs as key-key.
func keysOfPairs(page contract.NearDuplicatePage) (keys []string) {
	for _, p := range page.Data {
		keys = append(keys, *p.A.Key+"-"+*p.B.Key)
	}
	return keys
}

func TestNearDuplicates(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	id := splitItems(t, e, as, project.Id, "faq",
		"train=Which planet of the solar system has the most moons today?", // k0
		"train=What is the capital of France?",
		"train=which planet of the solar system has the most moons",       // k2, nearly k0
		"test=Which  planet of the Solar System has the most moons today", // k3, k0 but for space and case
		"=What is the capital of Italy?",
		"test=1", "train=2", "=",
		"=What is the capital of   Italy", // k8, k4
	)
	assert.Nil(t, nearDuplicates(t, e, as, id, "").Check, "it was not checked yet")
	e.Work(t)
	started := e.CheckNearDuplicates(t, as, id, "{}", http.StatusAccepted)
	assert.InDelta(t, 0.8, started.Threshold, 0)
	assert.EqualValues(t, 9, started.Total)
	assert.Nil(t, started.Pairs)
	found := checked(t, e, as, id)
	require.Nil(t, found.Check.Error)
	assert.Equal(t, contract.NearDuplicateCheckStatusSucceeded, found.Check.Status)
	assert.Equal(t, []int64{9, 8, 1, 4, 2, 0, 0}, []int64{
		found.Check.Processed, *found.Check.ItemsChecked, *found.Check.ItemsWithoutText, *found.Check.Pairs, *found.Check.PairsAcrossSplits,
		*found.Check.PairsNotListed, *found.Check.ItemsPartlyCompared,
	})
	assert.Equal(t, []string{"k0-k3", "k2-k3", "k4-k8", "k0-k2"}, keysOfPairs(found), "across splits first, then by similarity")
	assert.Equal(t, []string{"k0-k3", "k2-k3"}, keysOfPairs(nearDuplicates(t, e, as, id, "?across_splits=true")))
	within := nearDuplicates(t, e, as, id, "?across_splits=false&limit=1")
	assert.Equal(t, []string{"k4-k8"}, keysOfPairs(within))
	assert.True(t, within.HasMore)
	assert.Equal(t, []string{"k0-k2"}, keysOfPairs(nearDuplicates(t, e, as, id, "?across_splits=false&limit=1&offset=1")))
	first := found.Data[0]
	assert.InDelta(t, 1, first.Similarity, 0)
	assert.Equal(t, []any{"train", "test", `{"question":"Which planet of the solar system has the most moons today?"}`, false},
		[]any{*first.A.Split, *first.B.Split, first.A.InputPreview, first.A.InputTruncated})
	assert.Equal(t, apitest.Email, *found.Check.CreatedBy.Email)

	assert.Equal(t, started.Id, e.CheckNearDuplicates(t, as, id, `{"revision":1,"threshold":0.8}`, http.StatusOK).Id, "there is one already")
	assert.Equal(t, 1, e.Count(t, "SELECT count(*) FROM river_job WHERE kind = 'near_duplicates'"))
	strict := e.CheckNearDuplicates(t, as, id, `{"threshold":1}`, http.StatusAccepted)
	assert.NotEqual(t, started.Id, strict.Id)
	assert.Equal(t, []string{"k0-k3", "k4-k8"}, keysOfPairs(checked(t, e, as, id)))
	assert.Equal(t, 1, e.Count(t, "SELECT count(*) FROM near_duplicate_checks"), "it replaces the one before")

	// An item that goes is still in the revision that was checked.
	w := e.Do(t, http.MethodDelete, "/v1/datasets/"+id.String()+"/items/"+first.B.Id.String(), nil, as)
	require.Equal(t, http.StatusNoContent, w.Code)
	stale := nearDuplicates(t, e, as, id, "")
	assert.Equal(t, 1, stale.Check.Revision)
	assert.Equal(t, []string{"k0-k3", "k4-k8"}, keysOfPairs(stale))
	assert.Nil(t, nearDuplicates(t, e, as, id, "?revision=2").Check)
	e.CheckNearDuplicates(t, as, id, "{}", http.StatusAccepted)
	now := checked(t, e, as, id)
	assert.Equal(t, 2, now.Check.Revision)
	assert.Equal(t, []string{"k4-k8", "k0-k2"}, keysOfPairs(now))
	assert.Equal(t, 1, nearDuplicates(t, e, as, id, "?revision=1").Check.Revision)
	apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/datasets/"+id.String()+"/near-duplicates/_actions/check", `{"revision":3}`, as), http.StatusUnprocessableEntity)
	apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/datasets/"+id.String()+"/near-duplicates/_actions/check", `{"threshold":0.4}`, as), http.StatusUnprocessableEntity)
	apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/datasets/"+id.String()+"/near-duplicates?revision=3", nil, as), http.StatusUnprocessableEntity)

	e.Exec(t, "DELETE FROM datasets WHERE id = $1", id)
	assert.Zero(t, e.Count(t, "SELECT (SELECT count(*) FROM near_duplicate_checks) + (SELECT count(*) FROM near_duplicate_pairs)"))
}

// TestNearDuplicatesOfOddInputs checks what an input can be.
func TestNearDuplicatesOfOddInputs(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	id := e.CreateDataset(t, as, project.Id, "odd").Id
	deep := strings.Repeat("[", 900) + `"deep"` + strings.Repeat("]", 900)
	body := `{"items":[{"input":null},{"input":true},{"input":"\u0000"},{"input":"a\u0000 b c d"},{"input":[]},{"input":"👍🏽 é"},
		{"input":"👍🏽 e\u0301"},{"input":1e40},{"input":` + deep + `},{"input":{"":{"":"x"}}},{"input":"<script>alert(1)</script>"}]}`
	apitest.Must[contract.DatasetWritten](t, e.Do(t, http.MethodPost, "/v1/datasets/"+id.String()+"/items", body, as), http.StatusCreated)
	e.Work(t)
	e.CheckNearDuplicates(t, as, id, "{}", http.StatusAccepted)
	found := checked(t, e, as, id)
	require.Nil(t, found.Check.Error)
	assert.EqualValues(t, 3, *found.Check.ItemsWithoutText)
	require.Len(t, found.Data, 1)
	assert.Equal(t, `"👍🏽 é"`, found.Data[0].A.InputPreview)
}

// TestNearDuplicatesWithSystemPrompt has inputs that are the same for the most part. What all have in common is left out, and that is said.
func TestNearDuplicatesWithSystemPrompt(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	id := e.CreateDataset(t, as, project.Id, "chats").Id
	system := strings.Repeat("You answer the questions of customers of a shop, politely and in short sentences. ", 40)
	var items []any
	for i, question := range strings.Split("Where is my parcel today|Can I pay by invoice|Do you ship to Norway|How long is the warranty|Is the blue one in stock|"+
		"Who repairs my old lamp|Why was my card refused|May I return opened goods|When do you close on Sunday|What does the big box weigh|where is my parcel, today?", "|") {
		items = append(items, map[string]any{"key": fmt.Sprint("k", i), "input": map[string]any{"messages": []any{
			map[string]any{"role": "system", "content": system}, map[string]any{"role": "user", "content": question},
		}}})
	}
	apitest.Must[contract.DatasetWritten](t, e.Do(t, http.MethodPost, "/v1/datasets/"+id.String()+"/items", map[string]any{"items": items}, as), http.StatusCreated)
	e.Work(t)
	e.CheckNearDuplicates(t, as, id, "{}", http.StatusAccepted)
	found := checked(t, e, as, id)
	assert.Equal(t, []string{"k0-k10"}, keysOfPairs(found))
	require.Len(t, *found.Check.LeftOut, 3)
	assert.Equal(t, "messages[].content", (*found.Check.LeftOut)[0].Member)
	assert.InDelta(t, 1, (*found.Check.LeftOut)[0].Share, 1e-9)
	assert.True(t, found.Data[0].A.InputTruncated)
	assert.Len(t, found.Data[0].A.InputPreview, 2000)
}

// whileChecking runs fn while the check of a dataset runs, and cannot read the items.
func whileChecking(t *testing.T, e *apitest.Env, as apitest.Option, dataset uuid.UUID, fn func(tx pgx.Tx)) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), e.DB, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "LOCK TABLE dataset_items IN ACCESS EXCLUSIVE MODE"); err != nil {
			return err
		}
		e.Work(t)
		require.Eventually(t, func() bool {
			return nearDuplicates(t, e, as, dataset, "").Check.Status == contract.NearDuplicateCheckStatusRunning
		}, checkTime, time.Millisecond)
		fn(tx)
		return nil
	}))
}

func TestCancelCheck(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	id := splitItems(t, e, as, project.Id, "faq", "train=One question, or another", "test=one question or another")
	path := "/v1/datasets/" + id.String() + "/near-duplicates/_actions/cancel"
	cancel := func() contract.NearDuplicateCheck {
		return apitest.Must[contract.NearDuplicateCheck](t, e.Do(t, http.MethodPost, path, nil, as), http.StatusOK)
	}
	apitest.WantProblem(t, e.Do(t, http.MethodPost, path, nil, as), http.StatusNotFound)
	queued := e.CheckNearDuplicates(t, as, id, "{}", http.StatusAccepted)
	assert.Equal(t, queued.Id, e.CheckNearDuplicates(t, as, id, "{}", http.StatusOK).Id, "it waits already")
	other := e.Do(t, http.MethodPost, "/v1/datasets/"+id.String()+"/near-duplicates/_actions/check", `{"threshold":0.9}`, as)
	assert.Equal(t, "check_running", apitest.WantProblem(t, other, http.StatusConflict).Code)
	other = e.Do(t, http.MethodPost, "/v1/datasets/"+id.String()+"/near-duplicates/_actions/check", `{"revision":0}`, as)
	assert.Equal(t, "check_running", apitest.WantProblem(t, other, http.StatusConflict).Code)
	assert.Equal(t, 1, e.Count(t, "SELECT count(*) FROM river_job WHERE kind = 'near_duplicates'"), "a refused check leaves no job")
	assert.Equal(t, contract.NearDuplicateCheckStatusCancelled, cancel().Status)
	assert.Equal(t, contract.NearDuplicateCheckStatusCancelled, cancel().Status, "again")

	running := e.CheckNearDuplicates(t, as, id, "{}", http.StatusAccepted)
	assert.NotEqual(t, queued.Id, running.Id)
	whileChecking(t, e, as, id, func(pgx.Tx) { cancel() })
	require.Eventually(t, func() bool {
		return e.Count(t, "SELECT count(*) FROM river_job WHERE kind = 'near_duplicates' AND state = 'cancelled'") == 2
	}, checkTime, 50*time.Millisecond)
	assert.Equal(t, contract.NearDuplicateCheckStatusCancelled, nearDuplicates(t, e, as, id, "").Check.Status)

	e.CheckNearDuplicates(t, as, id, "{}", http.StatusAccepted)
	assert.Len(t, checked(t, e, as, id).Data, 1)
	assert.Equal(t, "check_finished", apitest.WantProblem(t, e.Do(t, http.MethodPost, path, nil, as), http.StatusConflict).Code)
}

// TestSameCheckAtOnce asks for a check from several places at once.
func TestSameCheckAtOnce(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	id := splitItems(t, e, apitest.Cookie(owner), project.Id, "faq", "train=One question, or another", "test=one question or another")
	codes := make([]int, 6)
	var all sync.WaitGroup
	for i := range codes {
		all.Go(func() {
			codes[i] = e.Do(t, http.MethodPost, "/v1/datasets/"+id.String()+"/near-duplicates/_actions/check", "{}", apitest.Cookie(owner)).Code
		})
	}
	all.Wait()
	counts := map[int]int{}
	for _, code := range codes {
		counts[code]++
	}
	assert.Equal(t, map[int]int{http.StatusAccepted: 1, http.StatusOK: 5}, counts)
	assert.Equal(t, 1, e.Count(t, "SELECT count(*) FROM river_job WHERE kind = 'near_duplicates'"))
}

// TestReplacedCheck has an attempt that another one replaced, and was killed. The check goes on, once.
func TestReplacedCheck(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	id := splitItems(t, e, as, project.Id, "faq", "train=One question, or another", "test=one question or another")
	check := e.CheckNearDuplicates(t, as, id, "{}", http.StatusAccepted)
	whileChecking(t, e, as, id, func(pgx.Tx) {
		e.Exec(t, "UPDATE near_duplicate_checks SET attempt_id = $2 WHERE id = $1", check.Id, uuid.New())
	})
	require.Eventually(t, func() bool {
		return e.Count(t, "SELECT count(*) FROM river_job WHERE kind = 'near_duplicates' AND state = 'completed'") == 1
	}, checkTime, 50*time.Millisecond)
	assert.Equal(t, contract.NearDuplicateCheckStatusRunning, nearDuplicates(t, e, as, id, "").Check.Status)
	assert.Zero(t, e.Count(t, "SELECT count(*) FROM near_duplicate_pairs"))

	require.NoError(t, e.Queue.Requeue(t.Context()))
	assert.Equal(t, 1, e.Count(t, "SELECT count(*) FROM river_job WHERE kind = 'near_duplicates'"), "the other attempt may be working")
	e.Clock.Advance(2 * time.Minute)
	require.NoError(t, e.Queue.Requeue(t.Context()))
	require.NoError(t, e.Queue.Requeue(t.Context()))
	assert.Equal(t, 2, e.Count(t, "SELECT count(*) FROM river_job WHERE kind = 'near_duplicates'"))
	assert.Len(t, checked(t, e, as, id).Data, 1)
	assert.Equal(t, 1, e.Count(t, "SELECT count(*) FROM near_duplicate_pairs"))
}

// TestCheckOfDeletedDataset deletes a dataset while it is checked.
func TestCheckOfDeletedDataset(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	id := e.CreateDataset(t, as, project.Id, "faq").Id
	e.CheckNearDuplicates(t, as, id, "{}", http.StatusAccepted)
	whileChecking(t, e, as, id, func(tx pgx.Tx) {
		_, err := tx.Exec(t.Context(), "DELETE FROM datasets WHERE id = $1", id)
		require.NoError(t, err)
	})
	require.Eventually(t, func() bool {
		return e.Count(t, "SELECT count(*) FROM river_job WHERE kind = 'near_duplicates' AND state = 'completed'") == 1
	}, checkTime, 50*time.Millisecond)
	assert.Zero(t, e.Count(t, "SELECT count(*) FROM near_duplicate_checks"))
}

// TestKeptChecks checks many revisions of a dataset.
func TestKeptChecks(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	id := splitItems(t, e, as, project.Id, "faq", "train=One question, or another", "test=one question or another")
	e.Work(t)
	for i := range 8 {
		e.WriteItems(t, as, id, "append", fmt.Sprint("more", i, "=one question or another"))
		e.CheckNearDuplicates(t, as, id, "{}", http.StatusAccepted)
		page := checked(t, e, as, id)
		assert.Equal(t, i+2, page.Check.Revision)
	}
	assert.Equal(t, 5, e.Count(t, "SELECT count(*) FROM near_duplicate_checks"))
	assert.Equal(t, 5, e.Count(t, "SELECT min(revision) FROM near_duplicate_checks"))
}

// TestScopesOfNearDuplicates has a key that may only read.
func TestScopesOfNearDuplicates(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	id := splitItems(t, e, apitest.Cookie(owner), project.Id, "faq", "train=One question, or another", "test=one question or another")
	read := apitest.Bearer(e.Mint(t, owner, project.Id, contract.ScopeDatasetsRead).Key)
	assert.Nil(t, nearDuplicates(t, e, read, id, "").Check)
	for _, action := range []string{"check", "cancel"} {
		w := e.Do(t, http.MethodPost, "/v1/datasets/"+id.String()+"/near-duplicates/_actions/"+action, "{}", read)
		assert.Equal(t, http.StatusForbidden, w.Code, action)
	}
	assert.Zero(t, e.Count(t, "SELECT count(*) FROM near_duplicate_checks"))
}
