package importing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/rest"
)

const (
	// pollInterval is the time between two questions for a running import, and patience how long they may fail.
	pollInterval = 300 * time.Millisecond
	patience     = time.Minute
	// cancelTime is how long the cancellation of an import may take.
	cancelTime = 10 * time.Second
	// previewBytes is how much of a file a preview needs, if its beginning is enough.
	previewBytes = 4 << 20
	// maxRejected is how many rejected rows are printed.
	maxRejected = 20
)

// mediaTypes are the content types by the name of the format.
var mediaTypes = map[string]string{
	"csv": "text/csv", "jsonl": "application/x-ndjson", "json": "application/json", "yaml": "application/yaml",
	"parquet": "application/vnd.apache.parquet", "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

// formats are the formats by the ending of a file's name.
var formats = map[string]string{
	".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".yaml": "yaml", ".yml": "yaml",
	".parquet": "parquet", ".xlsx": "xlsx",
}

// datasetImport are the flags of the command.
type datasetImport struct {
	file, name, project   string
	errorsFile            string
	maxRemoved            int64
	noHeader, dedupe      bool
	dryRun, limitsRemoved bool
	// The parameters of the API by their names.
	format, encoding, delimiter, sheet, mapping, mode, onError, note string
}

func newDatasets() *cobra.Command {
	var d datasetImport
	c := &cobra.Command{
		Use:   "datasets FILE",
		Short: "Import a file into a dataset (LOOPTRACE_API_KEY: scopes datasets:read and datasets:write)",
		Long: "Import a file into a dataset.\n\n" +
			"FILE is CSV, JSON Lines, JSON, YAML, Parquet or XLSX; - is the standard input. Its rows become items in one revision\n" +
			"of the dataset, which is created if there is none. --dry-run prints what the first rows would become, and the mapping,\n" +
			"which --mapping takes changed.\n\n" +
			"Looptrace imports the file as a job, and the command shows how far it is. An interrupt cancels the job. The command\n" +
			"prints the rejected rows, and ends with status 1 if the import failed.\n\n" +
			"The key comes from LOOPTRACE_API_KEY and needs the scopes datasets:read and datasets:write. The address comes from\n" +
			"LOOPTRACE_ENDPOINT (default: http://127.0.0.1:7090).",
		Example: "  looptrace import datasets faq.csv --dry-run\n" +
			"  looptrace import datasets faq.csv --mode upsert --mapping '{\"shape\": \"columns\", \"key\": \"id\", \"input\": [\"question\"], \"reference_output\": \"answer\"}'",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := rest.New("the scopes datasets:read and datasets:write")
			if err != nil {
				return err
			}
			d.file = args[0]
			d.limitsRemoved = c.Flags().Changed("max-removed")
			query, err := d.query()
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // the second interrupt ends the command
			file, err := d.open(c.InOrStdin())
			if err != nil {
				return err
			}
			defer file.Close() //nolint:errcheck // it is only read
			r := run{datasetImport: &d, client: client, out: c.OutOrStdout(), progress: newProgress(c.ErrOrStderr())}
			if d.dryRun {
				err = r.preview(ctx, file, query)
			} else {
				err = r.importFile(ctx, file, query)
			}
			if errors.Is(err, context.Canceled) {
				return errors.New("interrupted: nothing was imported")
			}
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&d.name, "dataset", "", "name of the dataset (default: the name of the file without its ending)")
	f.StringVar(&d.project, "project", "", "id of the project (default: that of the key)")
	f.StringVar(&d.mode, "mode", "", "append, upsert or replace (default: append)")
	f.StringVar(&d.onError, "on-error", "", "reject imports nothing if rows are rejected, skip imports the others (default: reject)")
	f.BoolVar(&d.dedupe, "dedupe", false, "leave out rows whose input and reference output the dataset has")
	f.Int64Var(&d.maxRemoved, "max-removed", 0, "the most items that --mode replace may remove (default: any number)")
	f.StringVar(&d.mapping, "mapping", "", "which columns become what, as JSON or @FILE (default: as --dry-run prints it)")
	f.StringVar(&d.note, "note", "", "why; it is kept with the revision")
	f.StringVar(&d.format, "format", "", "csv, jsonl, json, yaml, parquet or xlsx (default: by the name of the file, or its content)")
	f.StringVar(&d.encoding, "encoding", "", "utf-8, utf-16le, utf-16be or windows-1252 (default: found in the file)")
	f.StringVar(&d.delimiter, "delimiter", "", `of CSV; \t is a tab (default: found in the file)`)
	f.StringVar(&d.sheet, "sheet", "", "of XLSX (default: the first)")
	f.BoolVar(&d.noHeader, "no-header", false, "the first row has no names of columns")
	f.StringVar(&d.errorsFile, "errors", "", "save the rejected rows as CSV in this file")
	f.BoolVar(&d.dryRun, "dry-run", false, "only print what the first rows would become")
	for flag, values := range map[string][]cobra.Completion{
		"mode": {"append", "upsert", "replace"}, "on-error": {"reject", "skip"}, "format": {"csv", "jsonl", "json", "yaml", "parquet", "xlsx"},
		"encoding": {"utf-8", "utf-16le", "utf-16be", "windows-1252"},
	} {
		_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	}
	return c
}

// query returns the parameters that a preview and an import share.
func (d *datasetImport) query() (url.Values, error) {
	if d.file == "-" && d.name == "" {
		return nil, errors.New("name the dataset with --dataset: the standard input has no name")
	}
	if d.name == "" {
		name := filepath.Base(d.file)
		d.name = cmp.Or(strings.TrimSuffix(name, filepath.Ext(name)), name)
	}
	mapping, err := d.readMapping()
	if err != nil {
		return nil, err
	}
	delimiter := d.delimiter
	if delimiter == `\t` {
		delimiter = "\t"
	}
	query := url.Values{}
	for name, value := range map[string]string{
		"format": d.format, "encoding": d.encoding, "delimiter": delimiter, "sheet": d.sheet, "mapping": mapping,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if d.file != "-" {
		query.Set("file_name", filepath.Base(d.file))
	}
	if d.noHeader {
		query.Set("header", "false")
	}
	return query, nil
}

func (d *datasetImport) readMapping() (string, error) {
	text := d.mapping
	if name, isFile := strings.CutPrefix(text, "@"); isFile {
		content, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("read --mapping: %w", err)
		}
		text = string(content)
	}
	if text != "" && !json.Valid([]byte(text)) {
		return "", errors.New("--mapping is no JSON: give an object such as the one that --dry-run prints, or @FILE")
	}
	return text, nil
}

// dataFile is the file to import.
type dataFile struct {
	io.ReadCloser
	// size is 0 if it is not known.
	size int64
}

func (d *datasetImport) open(stdin io.Reader) (dataFile, error) {
	if d.file == "-" {
		return dataFile{io.NopCloser(stdin), 0}, nil
	}
	file, err := os.Open(d.file)
	if err != nil {
		return dataFile{}, fmt.Errorf("read the file: %w", err)
	}
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return dataFile{}, errors.Join(fmt.Errorf("read %s: %w", d.file, err), file.Close())
	}
	if info.IsDir() {
		return dataFile{}, errors.Join(fmt.Errorf("%s is a folder: name a file", d.file), file.Close())
	}
	if !info.Mode().IsRegular() { // a pipe
		return dataFile{file, 0}, nil
	}
	return dataFile{file, info.Size()}, nil
}

func (d *datasetImport) knownFormat() string {
	return cmp.Or(d.format, formats[strings.ToLower(filepath.Ext(d.file))])
}

// upload is the request with the file.
func (d *datasetImport) upload(path []string, query url.Values, body io.Reader, size int64) rest.Call {
	return rest.Call{
		Method: http.MethodPost, Path: path, Query: query, Body: body, Size: size,
		ContentType: cmp.Or(mediaTypes[d.knownFormat()], "application/octet-stream"),
	}
}

// run is the import or the preview of a file.
type run struct {
	*datasetImport

	client   *rest.Client
	out      io.Writer
	progress *progress
}

// dataset is a dataset of the API.
type dataset struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// find returns the dataset, or nil if there is none.
func (r *run) find(ctx context.Context) (*dataset, error) {
	if r.project == "" {
		project, err := r.client.Project(ctx)
		if err != nil {
			return nil, err
		}
		r.project = project
	}
	var page struct{ Data []dataset }
	err := r.client.Read(ctx, rest.Call{
		Method: http.MethodGet, Path: []string{"v1", "datasets"}, Query: url.Values{"project_id": {r.project}, "name": {r.name}},
	}, &page)
	if err != nil || len(page.Data) == 0 {
		return nil, err
	}
	return &page.Data[0], nil
}

func (r *run) create(ctx context.Context) (*dataset, error) {
	body, err := json.Marshal(map[string]string{"project_id": r.project, "name": r.name})
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	var created dataset
	if err := r.client.Do(ctx, http.MethodPost, body, &created, "v1", "datasets"); err != nil {
		return nil, fmt.Errorf("create the dataset %s: %w", rest.Printable(r.name), err)
	}
	_, err = fmt.Fprintf(r.out, "created the dataset %s\n", rest.Printable(created.Name))
	return &created, err
}

func (r *run) preview(ctx context.Context, file dataFile, query url.Values) error {
	into, err := r.find(ctx)
	if err != nil {
		return err
	}
	if into == nil {
		return fmt.Errorf("there is no dataset %s, and a dry run creates none: create it in Looptrace under Datasets, where it stays empty, or name one with --dataset", rest.Printable(r.name))
	}
	body, size := io.Reader(file), file.size
	switch r.knownFormat() {
	case "csv", "jsonl", "json":
		if file.size > previewBytes || file.size == 0 {
			// A file that ends sooner is read to its end; that its last row is left out then does no harm.
			body, size = io.LimitReader(file, previewBytes), min(file.size, previewBytes)
			query.Set("partial", "true")
		}
	}
	var answer preview
	if err := r.client.Read(ctx, r.upload([]string{"v1", "datasets", into.ID, "imports", "_actions", "preview"}, query, body, size), &answer); err != nil {
		return err
	}
	if err := answer.print(r.out); err != nil {
		return err
	}
	if n := answer.rejected(); n > 0 && r.onError != "skip" {
		return fmt.Errorf("rejected: %d", n)
	}
	return nil
}

func (r *run) importFile(ctx context.Context, file dataFile, query url.Values) error {
	dedupe := ""
	if r.dedupe {
		dedupe = "content"
	}
	maxRemoved := ""
	if r.limitsRemoved {
		maxRemoved = strconv.FormatInt(r.maxRemoved, 10)
	}
	for name, value := range map[string]string{"mode": r.mode, "on_error": r.onError, "dedupe": dedupe, "max_removed": maxRemoved, "note": r.note} {
		if value != "" {
			query.Set(name, value)
		}
	}
	into, err := r.find(ctx)
	if err == nil && into == nil {
		into, err = r.create(ctx)
	}
	if err != nil {
		return err
	}
	counted := &countingReader{Reader: file, size: file.size, progress: r.progress}
	var job imported
	err = r.client.Read(ctx, r.upload([]string{"v1", "datasets", into.ID, "imports"}, query, counted, file.size), &job)
	r.progress.clear()
	if ctx.Err() != nil && err != nil {
		return fmt.Errorf("interrupted while the file was sent; GET /v1/datasets/%s/imports lists an import that had begun by then", into.ID)
	}
	if err != nil {
		return err
	}
	job, err = r.follow(ctx, job)
	r.progress.clear()
	if err != nil {
		return err
	}
	return r.report(context.WithoutCancel(ctx), job)
}

// follow waits until the import has ended. An interrupt cancels it.
func (r *run) follow(ctx context.Context, job imported) (imported, error) {
	answered := time.Now()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for !job.ended() {
		r.progress.show(job.describe())
		select {
		case <-ctx.Done():
			return r.cancel(context.WithoutCancel(ctx), job)
		case <-ticker.C:
		}
		var next imported
		err := r.client.Do(ctx, http.MethodGet, nil, &next, "v1", "imports", job.ID)
		switch {
		case ctx.Err() != nil:
		case err == nil:
			job, answered = next, time.Now()
		case isFinal(err), time.Since(answered) > patience:
			return job, fmt.Errorf("the import %s may go on, but what becomes of it is not known: %w", job.ID, err)
		}
	}
	return job, nil
}

// isFinal reports whether the same question will get the same refusal.
func isFinal(err error) bool {
	var refused *rest.RefusedError
	return errors.As(err, &refused) && refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests
}

func (r *run) cancel(ctx context.Context, job imported) (imported, error) {
	ctx, stop := context.WithTimeout(ctx, cancelTime)
	defer stop()
	r.progress.clear()
	var cancelled imported
	err := r.client.Do(ctx, http.MethodPost, nil, &cancelled, "v1", "imports", job.ID, "_actions", "cancel")
	var refused *rest.RefusedError
	if errors.As(err, &refused) && refused.Code == "import_finished" {
		err = r.client.Do(ctx, http.MethodGet, nil, &cancelled, "v1", "imports", job.ID)
	}
	if err != nil {
		return job, fmt.Errorf("interrupted, but the import %s could not be cancelled and goes on: %w", job.ID, err)
	}
	return cancelled, nil
}

// report prints what became of the import.
func (r *run) report(ctx context.Context, job imported) error {
	if job.Rejected > 0 {
		var page struct{ Data []rowError }
		err := r.client.Read(ctx, rest.Call{
			Method: http.MethodGet, Path: []string{"v1", "imports", job.ID, "errors"}, Query: url.Values{"limit": {strconv.Itoa(maxRejected)}},
		}, &page)
		if err == nil {
			err = job.printRejected(r.out, page.Data, r.errorsFile)
		}
		if err != nil {
			return err
		}
	}
	if r.errorsFile != "" {
		if err := r.saveErrors(ctx, job); err != nil {
			return err
		}
	}
	return job.print(r.out, r.name)
}

// saveErrors saves all rejected rows.
func (r *run) saveErrors(ctx context.Context, job imported) error {
	response, err := r.client.Send(ctx, rest.Call{
		Method: http.MethodGet, Path: []string{"v1", "imports", job.ID, "errors"}, Query: url.Values{"format": {"csv"}},
	})
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	file, err := os.Create(r.errorsFile)
	if err != nil {
		return fmt.Errorf("save the rejected rows: %w", err)
	}
	_, err = io.Copy(file, response.Body)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("save the rejected rows: %w", err)
	}
	return nil
}

// countingReader shows how much of a file was read.
type countingReader struct {
	io.Reader

	size     int64
	read     atomic.Int64
	progress *progress
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.progress.show("sending the file: " + share(c.read.Add(int64(n)), c.size))
	return n, err //nolint:wrapcheck // an io.Reader returns io.EOF as it is
}
