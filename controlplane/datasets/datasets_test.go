package datasets_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// keysOf lists the keys and inputs of a revision; "" is the newest.
func keysOf(t *testing.T, e *apitest.Env, as apitest.Option, dataset uuid.UUID, revision string) (list []string) {
	t.Helper()
	path := "/v1/datasets/" + dataset.String() + "/items?limit=500"
	if revision != "" {
		path += "&revision=" + revision
	}
	page := apitest.Must[contract.DatasetItemPage](t, e.Do(t, http.MethodGet, path, nil, as), http.StatusOK)
	for _, item := range page.Data {
		name := "-"
		if item.Key != nil {
			name = *item.Key
		}
		list = append(list, name+"="+strings.Trim(string(item.Input), `"`))
	}
	return list
}

func TestDatasets(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	viewer := apitest.Cookie(e.AddMember(t, "vic@example.com", "viewer", project.OrganizationId))
	w := e.Do(t, http.MethodPost, "/v1/datasets", map[string]any{"project_id": project.Id, "name": " faq ", "description": "Questions."}, as)
	faq := apitest.Must[contract.Dataset](t, w, http.StatusCreated)
	path := "/v1/datasets/" + faq.Id.String()
	assert.Equal(t, path, w.Header().Get("Location"))
	assert.Equal(t, "faq", faq.Name)
	assert.Zero(t, faq.Revision)
	assert.Equal(t, "null", string(faq.Schema.Input))
	assert.Equal(t, "name_taken", apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/datasets", map[string]any{"project_id": project.Id, "name": "faq"}, as), http.StatusConflict).Code)
	e.CreateDataset(t, as, project.Id, "Other")
	names := func(query string) (list []string) {
		t.Helper()
		for _, d := range apitest.Must[contract.DatasetPage](t, e.Do(t, http.MethodGet, "/v1/datasets?project_id="+project.Id.String()+query, nil, viewer), http.StatusOK).Data {
			list = append(list, d.Name)
		}
		return list
	}
	assert.Equal(t, []string{"faq", "Other"}, names(""))
	assert.Equal(t, []string{"faq"}, names("&search=QUESTIONS"))
	assert.Equal(t, []string{"Other"}, names("&name=Other"))
	assert.Equal(t, "name_taken", apitest.WantProblem(t, e.Do(t, http.MethodPatch, path, `{"name":"Other"}`, as), http.StatusConflict).Code)
	renamed := apitest.Must[contract.Dataset](t, e.Do(t, http.MethodPatch, path, `{"name":"FAQ"}`, as), http.StatusOK)
	assert.Equal(t, "Questions.", renamed.Description)

	item := apitest.Must[contract.DatasetItem](t, e.Do(t, http.MethodPost, path+"/items",
		`{"key":"a","input":{"z":1.50,"a":[1]},"reference_output":"Paris","metadata":{"b":1},"split":"test","tags":["x","x","y"]}`, as), http.StatusCreated)
	assert.Contains(t, string(item.Input), `"z":1.50,"a"`, "as it was sent")
	assert.Equal(t, []string{"x", "y"}, item.Tags)
	for _, r := range []struct {
		method, path string
		body         any
	}{
		{http.MethodPost, "/v1/datasets", map[string]any{"project_id": project.Id, "name": "y"}},
		{http.MethodPatch, path, `{"description":"x"}`},
		{http.MethodPost, path + "/items", `{"input":1}`},
		{http.MethodPatch, path + "/items/" + item.Id.String(), `{"input":1}`},
		{http.MethodDelete, path + "/items/" + item.Id.String(), nil},
		{http.MethodDelete, path, nil},
	} {
		assert.Equal(t, http.StatusForbidden, e.Do(t, r.method, r.path, r.body, viewer).Code, r.method+" "+r.path)
	}
	assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, path, nil, as).Code)
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodGet, path, nil, as).Code)
	_, err := e.DB.Exec(t.Context(), "DELETE FROM projects WHERE id = $1", project.Id)
	require.NoError(t, err)
	assert.Zero(t, e.Count(t, "SELECT (SELECT count(*) FROM datasets) + (SELECT count(*) FROM dataset_items) + (SELECT count(*) FROM dataset_revisions)"))
}

// TestDatasetRevisions writes in every mode, and reads each revision exactly.
func TestDatasetRevisions(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	dataset := e.CreateDataset(t, as, project.Id, "d")
	path := "/v1/datasets/" + dataset.Id.String()
	counts := func(w contract.DatasetWritten) [5]int {
		return [5]int{w.Revision, w.Added, w.Updated, w.Removed, w.Unchanged}
	}
	first := e.WriteItems(t, as, dataset.Id, "append", "a=1", "b=2", "c=3")
	assert.Equal(t, [5]int{1, 3, 0, 0, 0}, counts(first))
	upserted := e.WriteItems(t, as, dataset.Id, "upsert", "b=2", "c=33", "d=4")
	assert.Equal(t, [5]int{2, 1, 1, 0, 1}, counts(upserted))
	assert.Equal(t, first.ItemIds[1:], upserted.ItemIds[:2])
	assert.Equal(t, [5]int{2, 0, 0, 0, 2}, counts(e.WriteItems(t, as, dataset.Id, "upsert", "b=2", "c=33")), "a write that changes nothing makes no revision")
	assert.Equal(t, [5]int{3, 1, 0, 3, 1}, counts(e.WriteItems(t, as, dataset.Id, "replace", "d=4", "e=5")))
	item := *first.ItemIds[0]
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodGet, path+"/items/"+item.String(), nil, as).Code)
	assert.Equal(t, "1", string(apitest.Must[contract.DatasetItem](t, e.Do(t, http.MethodGet, path+"/items/"+item.String()+"?revision=2", nil, as), http.StatusOK).Input)[1:2])

	d := *upserted.ItemIds[2]
	edited := apitest.Must[contract.DatasetItem](t, e.Do(t, http.MethodPatch, path+"/items/"+d.String(), `{"input":"44","split":"test","note":"typo"}`, as), http.StatusOK)
	assert.Equal(t, 4, edited.RevisionAdded)
	assert.Equal(t, "d", *edited.Key)
	cleared := apitest.Must[contract.DatasetItem](t, e.Do(t, http.MethodPatch, path+"/items/"+d.String(), `{"split":null,"key":null,"reference_output":null}`, as), http.StatusOK)
	assert.Nil(t, cleared.Split)
	assert.Nil(t, cleared.Key)
	assert.Equal(t, cleared, apitest.Must[contract.DatasetItem](t, e.Do(t, http.MethodPatch, path+"/items/"+d.String(), `{"split":null}`, as), http.StatusOK), "no change, no revision")
	assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, path+"/items/"+d.String(), nil, as).Code)
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodDelete, path+"/items/"+d.String(), nil, as).Code)
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodPatch, path+"/items/"+d.String(), `{"input":1}`, as).Code)

	for revision, want := range map[string][]string{
		"0": nil, "1": {"a=1", "b=2", "c=3"}, "2": {"a=1", "b=2", "c=33", "d=4"}, "3": {"d=4", "e=5"}, "4": {"d=44", "e=5"}, "5": {"-=44", "e=5"}, "6": {"e=5"}, "": {"e=5"},
	} {
		assert.Equal(t, want, keysOf(t, e, as, dataset.Id, revision), "revision %s", revision)
	}
	apitest.WantProblem(t, e.Do(t, http.MethodGet, path+"/items?revision=7", nil, as), http.StatusUnprocessableEntity)

	page := apitest.Must[contract.DatasetRevisionPage](t, e.Do(t, http.MethodGet, path+"/revisions", nil, as), http.StatusOK)
	var history []string
	for _, r := range page.Data {
		history = append(history, fmt.Sprint(r.Revision, " ", r.Kind, " +", r.Added, " ~", r.Updated, " -", r.Removed, " =", r.ItemCount, " ", r.Note))
	}
	assert.Equal(t, []string{"6 delete +0 ~0 -1 =1 ", "5 edit +0 ~1 -0 =2 ", "4 edit +0 ~1 -0 =2 typo", "3 replace +1 ~0 -3 =2 ", "2 upsert +1 ~1 -0 =4 ", "1 append +3 ~0 -0 =3 "}, history)

	diff := func(from, to int) (counts [3]int64, changes []string) {
		t.Helper()
		d := apitest.Must[contract.DatasetDiff](t, e.Do(t, http.MethodGet, fmt.Sprintf("%s/revisions/%d/diff/%d", path, from, to), nil, as), http.StatusOK)
		for _, c := range d.Data {
			before, after := "-", "-"
			if c.Before != nil {
				before = string(c.Before.Input)
			}
			if c.After != nil {
				after = string(c.After.Input)
			}
			changes = append(changes, string(c.Change)+" "+before+" "+after)
		}
		return [3]int64{d.Added, d.Removed, d.Changed}, changes
	}
	numbers, changes := diff(1, 4)
	assert.Equal(t, [3]int64{2, 3, 0}, numbers)
	assert.Equal(t, []string{`removed "1" -`, `removed "2" -`, `removed "3" -`, `added - "44"`, `added - "5"`}, changes)
	numbers, changes = diff(4, 1)
	assert.Equal(t, [3]int64{3, 2, 0}, numbers)
	assert.Len(t, changes, 5)
	numbers, changes = diff(1, 2)
	assert.Equal(t, [3]int64{1, 0, 1}, numbers)
	assert.Equal(t, []string{`changed "3" "33"`, `added - "4"`}, changes)
	numbers, _ = diff(3, 3)
	assert.Equal(t, [3]int64{}, numbers)
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodGet, path+"/revisions/1/diff/99", nil, as).Code)

	// A revision stores what it changes.
	assert.Equal(t, 8, e.Count(t, "SELECT count(*) FROM dataset_items"))
	for _, statement := range []string{
		"UPDATE dataset_items SET input = '1'", "DELETE FROM dataset_items", "UPDATE dataset_items SET removed_in = 99 WHERE removed_in IS NOT NULL",
		"UPDATE dataset_items SET removed_in = 99, input = '1' WHERE removed_in IS NULL", "UPDATE dataset_revisions SET added = 1", "DELETE FROM dataset_revisions",
	} {
		_, err := e.DB.Exec(t.Context(), statement)
		require.ErrorContains(t, err, "never change", statement)
	}
}

func TestDatasetWritesAreChecked(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	dataset := e.CreateDataset(t, as, project.Id, "d", "a=1", "b=2")
	path := "/v1/datasets/" + dataset.Id.String()
	refused := func(body, location, message string) {
		t.Helper()
		p := apitest.WantProblem(t, e.Do(t, http.MethodPost, path+"/items", body, as), http.StatusUnprocessableEntity)
		if assert.NotNil(t, p.Errors, body) {
			assert.Equal(t, location, (*p.Errors)[0].Location, body)
			assert.Contains(t, (*p.Errors)[0].Message, message, body)
		}
	}
	refused(`{}`, "body.input", "is needed")
	refused(`{"items":[{"key":"x"}]}`, "body.items[0].input", "")
	refused(`{"items":[]}`, "body.items", "")
	refused(`{"input":1,"items":[{"input":1}]}`, "body.input", "must be absent")
	refused(`{"input":1,"mode":"upsert"}`, "body.mode", "is only for items")
	refused(`{"key":"a","input":1}`, "body.key", "is in the dataset already")
	refused(`{"items":[{"key":"n","input":1},{"key":"a","input":1}]}`, "body.items[1].key", "is in the dataset already")
	refused(`{"items":[{"key":"n","input":1},{"key":"n","input":2}]}`, "body.items[1].key", "is also that of body.items[0]")
	refused(`{"items":[{"input":1,"metadata":[]}]}`, "body.items[0].metadata", "")
	refused(`{"input":1,"split":" "}`, "body.split", "must not be blank")
	refused(`{"input":1,"source_span_id":"x"}`, "body.source_span_id", "")
	assert.Equal(t, []string{"a=1", "b=2"}, keysOf(t, e, as, dataset.Id, ""), "all or nothing")

	assert.Equal(t, "stale_base_revision", apitest.WantProblem(t, e.Do(t, http.MethodPost, path+"/items", `{"input":1,"base_revision":0}`, as), http.StatusConflict).Code)
	assert.Equal(t, "too_many_removed", apitest.WantProblem(t, e.Do(t, http.MethodPost, path+"/items", `{"mode":"replace","max_removed":1,"items":[{"input":1}]}`, as), http.StatusConflict).Code)
	planned := apitest.Must[contract.DatasetWritten](t, e.Do(t, http.MethodPost, path+"/items", `{"mode":"replace","dry_run":true,"dedupe":"content","items":[{"key":"a","input":"1"},{"input":2},{"input":2}]}`, as), http.StatusOK)
	assert.Equal(t, []int{2, 1, 0, 1, 2}, []int{planned.Revision, planned.Added, planned.Updated, planned.Removed, planned.Unchanged})
	assert.NotNil(t, planned.ItemIds[0])
	assert.Equal(t, []*uuid.UUID{nil, nil}, planned.ItemIds[1:], "no item is added")
	assert.Equal(t, []string{"a=1", "b=2"}, keysOf(t, e, as, dataset.Id, ""))

	// The order of members does not make another content.
	for range 2 {
		apitest.Must[contract.DatasetWritten](t, e.Do(t, http.MethodPost, path+"/items", `{"dedupe":"content","items":[{"input":{"a":1,"b":2}},{"input":{"b":2,"a":1}},{"input":3}]}`, as), http.StatusCreated)
	}
	assert.Len(t, keysOf(t, e, as, dataset.Id, ""), 4)
	known := apitest.Must[contract.DatasetWritten](t, e.Do(t, http.MethodPost, path+"/items", `{"dedupe":"content","items":[{"input":"1"}]}`, as), http.StatusCreated)
	assert.Equal(t, []int{0, 1}, []int{known.Added, known.Unchanged}, "the content of an item with a key")
	kept := apitest.Must[contract.DatasetWritten](t, e.Do(t, http.MethodPost, path+"/items", `{"mode":"replace","items":[{"input":3},{"input":{"a":1,"b":2},"tags":["x"]}]}`, as), http.StatusCreated)
	assert.Equal(t, []int{0, 1, 2, 1}, []int{kept.Added, kept.Updated, kept.Removed, kept.Unchanged}, "items without a key are found by their content")

	// A schema holds for what is there and for what comes.
	p := apitest.WantProblem(t, e.Do(t, http.MethodPatch, path, `{"schema":{"input":{"type":"object"}}}`, as), http.StatusUnprocessableEntity)
	require.Len(t, *p.Errors, 1)
	assert.Contains(t, (*p.Errors)[0].Message, "does not fit the item")
	apitest.WantProblem(t, e.Do(t, http.MethodPatch, path, `{"schema":{"input":{"type":"no such type"}}}`, as), http.StatusUnprocessableEntity)
	apitest.Must[contract.Dataset](t, e.Do(t, http.MethodPatch, path, `{"schema":{"input":{"type":["object","number"]},"reference_output":{"enum":["yes",null]}}}`, as), http.StatusOK)
	refused(`{"items":[{"input":1},{"input":"x","reference_output":"no"}]}`, "body.items[1].input", "does not fit the schema of the dataset")
	apitest.Must[contract.Dataset](t, e.Do(t, http.MethodPatch, path, `{"schema":{"input":null}}`, as), http.StatusOK)

	// Each level of this schema checks the level below twice: 2^40 steps.
	var doubling strings.Builder
	doubling.WriteString(`"$ref":"#/$defs/d40","$defs":{"d0":{}`)
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&doubling, `,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i-1, i-1)
	}
	endless := fmt.Sprintf(`{"schema":{"input":{%s}}}}`, doubling.String())
	p = apitest.WantProblem(t, e.Do(t, http.MethodPatch, path, endless, as), http.StatusUnprocessableEntity)
	assert.Contains(t, (*p.Errors)[0].Message, "the schema needs more than 200000 steps for this value")
	apitest.Must[contract.DatasetItem](t, e.Do(t, http.MethodPost, path+"/items", `{"input":"x","reference_output":"yes"}`, as), http.StatusCreated)
}

func TestDatasetItemsOfAnyJSON(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	dataset := e.CreateDataset(t, as, project.Id, "any")
	path := "/v1/datasets/" + dataset.Id.String() + "/items"
	for _, value := range []string{
		`null`, `true`, `"x"`, `1234567890123456789`, `{}`, `[]`, `[null]`, `[1,null,[null,"x"],{"a":null}]`, `{"messages":[{"role":"assistant","content":null}]}`,
	} {
		added := apitest.Must[contract.DatasetItem](t, e.Do(t, http.MethodPost, path, `{"input":`+value+`,"reference_output":`+value+`}`, as), http.StatusCreated)
		assert.Equal(t, value, string(added.Input))
		assert.Equal(t, value, string(added.ReferenceOutput))
	}
}

func TestDatasetPages(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	items := make([]string, 25)
	for i := range items {
		items[i] = fmt.Sprintf("k%02d", i)
	}
	dataset := e.CreateDataset(t, as, project.Id, "d", items...)
	path := "/v1/datasets/" + dataset.Id.String() + "/items"
	var seen []string
	query := "?limit=10"
	for {
		page := apitest.Must[contract.DatasetItemPage](t, e.Do(t, http.MethodGet, path+query, nil, as), http.StatusOK)
		for _, item := range page.Data {
			seen = append(seen, *item.Key)
		}
		if len(seen) == 10 { // what comes later is not in the pages that follow
			e.WriteItems(t, as, dataset.Id, "append", "later")
		}
		if page.NextCursor == nil {
			break
		}
		query = "?limit=10&cursor=" + *page.NextCursor
	}
	assert.Equal(t, items, seen)
	for _, query := range []string{"?cursor=x", "?cursor=e30&offset=1", "?cursor=e30&revision=1"} {
		apitest.WantProblem(t, e.Do(t, http.MethodGet, path+query, nil, as), http.StatusUnprocessableEntity)
	}
	apitest.Must[contract.DatasetItem](t, e.Do(t, http.MethodPost, path, `{"key":"s","input":"needle 100%","split":"test","tags":["hard"]}`, as), http.StatusCreated)
	for query, want := range map[string]int{"?search=NEEDLE": 1, "?search=0%25": 1, "?split=test": 1, "?tag=hard": 1, "?tag=x": 0, "?search=k1": 10} {
		assert.Len(t, apitest.Must[contract.DatasetItemPage](t, e.Do(t, http.MethodGet, path+query, nil, as), http.StatusOK).Data, want, query)
	}
}

// TestConcurrentDatasetWrites writes from many sides: each write is one revision, none is lost, and each is read exactly.
func TestConcurrentDatasetWrites(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	dataset := e.CreateDataset(t, as, project.Id, "d")
	const writers = 100
	revisions := make([]int, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			var w *httptest.ResponseRecorder
			require.Eventually(t, func() bool { // as clients do that get no place
				w = e.Do(t, http.MethodPost, "/v1/datasets/"+dataset.Id.String()+"/items", map[string]any{"key": strconv.Itoa(i), "input": i}, as)
				return w.Code != http.StatusTooManyRequests
			}, importTime, 50*time.Millisecond)
			var item contract.DatasetItem
			if assert.Equal(t, http.StatusCreated, w.Code, w.Body.String()) && assert.NoError(t, json.Unmarshal(w.Body.Bytes(), &item)) {
				revisions[i] = item.RevisionAdded
			}
		})
	}
	all.Wait()
	byRevision := map[int]int{}
	for i, revision := range revisions {
		byRevision[revision] = i
	}
	require.Len(t, byRevision, writers)
	var want []string
	for revision := 1; revision <= writers; revision++ {
		want = append(want, fmt.Sprintf("%d=%d", byRevision[revision], byRevision[revision]))
		if revision%25 == 0 {
			assert.Equal(t, want, keysOf(t, e, as, dataset.Id, strconv.Itoa(revision)))
		}
	}
}

// TestItemsThatNoFileCanHave writes JSON that an import of the exported dataset would refuse.
func TestItemsThatNoFileCanHave(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	faq := e.CreateDataset(t, as, project.Id, "faq")
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	for item, location := range map[string]string{
		`{"input":{"a":1,"a":2}}`:                 "body.input",
		`{"input":1,"reference_output":"\ud800"}`: "body.reference_output",
		`{"input":1,"metadata":{"a":"\udc00"}}`:   "body.metadata",
		`{"input":` + nested(1000) + `}`:          "body.input",
	} {
		w := e.Do(t, http.MethodPost, "/v1/datasets/"+faq.Id.String()+"/items", item, as)
		refused := apitest.WantProblem(t, w, http.StatusUnprocessableEntity)
		assert.Equal(t, location, (*refused.Errors)[0].Location)
	}
	w := e.Do(t, http.MethodPost, "/v1/datasets/"+faq.Id.String()+"/items", `{"input":`+nested(999)+`}`, as)
	require.Equal(t, http.StatusCreated, w.Code)
	e.Work(t)
	for format, mediaType := range map[string]string{"jsonl": typeJSONL, "csv": apitest.TypeCSV} {
		file := e.Do(t, http.MethodGet, "/v1/datasets/"+faq.Id.String()+"/export?format="+format, nil, as).Body.String()
		assert.Nil(t, finish(t, e, as, e.SendFile(t, as, faq.Id, "", mediaType, file).Id).Error, format)
	}
}

// TestLongDeletions deletes what has so many items that it takes longer than other requests may.
func TestLongDeletions(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	other := e.CreateProject(t, owner, project.WorkspaceId, "Large")
	faq := e.CreateDataset(t, as, project.Id, "faq", "a")
	e.CreateDataset(t, as, other.Id, "faq", "a")
	e.Exec(t, "CREATE FUNCTION delay() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(6); RETURN OLD; END'")
	e.Exec(t, "CREATE TRIGGER delay BEFORE DELETE ON dataset_items FOR EACH ROW EXECUTE FUNCTION delay()")
	var deletions sync.WaitGroup
	for _, path := range []string{"/v1/datasets/" + faq.Id.String(), "/v1/projects/" + other.Id.String() + "?confirm=Large"} {
		deletions.Go(func() { assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, path, nil, as).Code, path) })
	}
	deletions.Wait()
	assert.Zero(t, e.Count(t, "SELECT count(*) FROM dataset_items"))
	workspace := "/v1/workspaces/" + project.WorkspaceId.String()
	e.CreateDataset(t, as, project.Id, "faq", "a")
	assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, workspace+"?confirm=Default", nil, as).Code)
	assert.Zero(t, e.Count(t, "SELECT count(*) FROM dataset_items"))
}

// TestDiffThatIsTooLarge: it says so, rather than that PostgreSQL is away.
func TestDiffThatIsTooLarge(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	dataset := e.CreateDataset(t, as, project.Id, "large", "a").Id
	e.Exec(t, `INSERT INTO dataset_revisions (dataset_id, revision, kind, added, updated, removed, item_count, created_at) VALUES ($1, 2, 'import', 200001, 0, 0, 200001, now())`, dataset)
	e.Exec(t, "UPDATE datasets SET revision = 2 WHERE id = $1", dataset)
	path := "/v1/datasets/" + dataset.String() + "/revisions/"
	for _, pair := range []string{"1/diff/2", "2/diff/1", "0/diff/2"} {
		refused := apitest.WantProblem(t, e.Do(t, http.MethodGet, path+pair, nil, as), http.StatusUnprocessableEntity)
		assert.Equal(t, "diff_too_large", refused.Code)
		assert.Contains(t, *refused.Detail, "closer together")
	}
	apitest.Must[contract.DatasetDiff](t, e.Do(t, http.MethodGet, path+"0/diff/1", nil, as), http.StatusOK)
}
