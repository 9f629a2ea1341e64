// Command moduleproxy writes this module into a folder, as a module proxy serves it: `moduleproxy FOLDER VERSION`. With
// GOPROXY=file://FOLDER others build collectors from it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "moduleproxy:", err)
		os.Exit(1)
	}
}

func run(args []string) (err error) {
	if len(args) != 2 {
		return errors.New("usage: moduleproxy FOLDER VERSION")
	}
	version := module.Version{Path: "github.com/looptrace/looptrace", Version: args[1]}
	folder := filepath.Join(args[0], version.Path, "@v")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	// What is new and not yet committed, too.
	listed, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("list the files: %w", err)
	}
	var files []zip.File
	for name := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() { // one that is deleted is listed until it is committed
			files = append(files, file(name))
		}
	}
	archive, err := os.Create(filepath.Join(folder, version.Version+".zip"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	if err := zip.Create(archive, version, files); err != nil {
		return fmt.Errorf("write the module: %w", err)
	}
	info, err := json.Marshal(map[string]any{"Version": version.Version, "Time": time.Unix(0, 0).UTC()})
	if err != nil {
		return err
	}
	gomod, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"list": []byte(version.Version + "\n"), version.Version + ".info": info, version.Version + ".mod": gomod} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// file is a file of the checkout, by its path.
type file string

func (f file) Path() string                 { return filepath.ToSlash(string(f)) }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(string(f)) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(string(f)) }
