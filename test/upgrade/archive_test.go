package upgrade

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// window is that of zstd: PostgreSQL has four databases that are nearly equal, 10 MB after one another.
const window = 64 << 20

// left says which files of a data folder are not packed: logs, caches that PostgreSQL writes again, and the command line with
// which it was started. A base backup of PostgreSQL leaves out the same.
func left(name string) bool {
	return name == "logs" || path.Base(name) == "pg_internal.init" || name == "postgres/postmaster.opts"
}

// pack writes a folder to a file. Owners and times are left out: a folder belongs to who unpacks it.
func pack(folder, file string) (err error) {
	output, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("pack a data folder: %w", err)
	}
	defer func() { err = errors.Join(err, output.Close()) }()
	packed, err := zstd.NewWriter(output, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("pack a data folder: %w", err)
	}
	archive := tar.NewWriter(packed)
	root := os.DirFS(folder)
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case left(name) && entry.IsDir():
			return fs.SkipDir
		case left(name):
			return nil
		}
		return packOne(archive, folder, name, entry)
	})
	if err = errors.Join(err, archive.Close(), packed.Close()); err != nil {
		return fmt.Errorf("pack a data folder: %w", err)
	}
	return nil
}

func packOne(archive *tar.Writer, folder, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	header := &tar.Header{Name: name, Mode: int64(info.Mode().Perm())}
	switch {
	case info.IsDir():
		header.Typeflag = tar.TypeDir
	case info.Mode().IsRegular():
		header.Typeflag, header.Size = tar.TypeReg, info.Size()
	case info.Mode()&fs.ModeSymlink != 0:
		header.Typeflag = tar.TypeSymlink
		if header.Linkname, err = os.Readlink(filepath.Join(folder, name)); err != nil {
			return err
		}
		if filepath.IsAbs(header.Linkname) {
			return fmt.Errorf("%s leads to %s, which another folder does not have", name, header.Linkname)
		}
	default:
		return fmt.Errorf("%s is neither a file nor a folder nor a link", name)
	}
	if err := archive.WriteHeader(header); err != nil || header.Typeflag != tar.TypeReg {
		return err
	}
	file, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return errors.Join(err, file.Close())
}

// unpack writes the files of a packed folder below a folder that it makes.
func unpack(file, folder string) error {
	input, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("unpack a data folder: %w", err)
	}
	defer func() { _ = input.Close() }() // opened for reading
	plain, err := zstd.NewReader(input, zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return fmt.Errorf("unpack a data folder: %w", err)
	}
	defer plain.Close()
	if err := os.Mkdir(folder, 0o700); err != nil {
		return fmt.Errorf("unpack a data folder: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("unpack a data folder: %w", err)
	}
	defer func() { _ = root.Close() }() // it is a handle
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = unpackOne(root, header, archive)
		}
		if err != nil {
			return fmt.Errorf("unpack a data folder: %w", err)
		}
	}
}

func unpackOne(root *os.Root, header *tar.Header, content io.Reader) error {
	mode := fs.FileMode(header.Mode) & fs.ModePerm
	switch header.Typeflag {
	case tar.TypeDir:
		if err := root.Mkdir(header.Name, mode); err != nil {
			return err
		}
		return root.Chmod(header.Name, mode) // whatever the umask is
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, header.Name)
	case tar.TypeReg:
		file, err := root.OpenFile(header.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content)
		return errors.Join(err, file.Chmod(mode), file.Close())
	default:
		return fmt.Errorf("%s is of the type %q", header.Name, strings.TrimSpace(string(header.Typeflag)))
	}
}
