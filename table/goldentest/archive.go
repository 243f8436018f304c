package goldentest

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is what an archive compressed by zstd --long=28 needs to be read.
const maxWindow = 1 << 28

// Walk calls visit for each file of an archive, .tar.gz or .tar.zst, in its order. Names have forward slashes and are
// clean; content is the caller's. It ends with the first error of visit.
func Walk(archive string, visit func(name string, content []byte) error) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	plain, err := decompress(archive, f)
	if err != nil {
		return fmt.Errorf("%s: %w", archive, err)
	}
	defer plain.Close()
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", archive, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", archive, h.Name, err)
		}
		if err := visit(path.Clean(h.Name), content); err != nil {
			return err
		}
	}
}

func decompress(archive string, f io.Reader) (io.ReadCloser, error) {
	if strings.HasSuffix(archive, ".zst") {
		z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return gzip.NewReader(f)
}

// Unpack writes the files of an archive under dir.
func Unpack(archive, dir string) error {
	return Walk(archive, func(name string, content []byte) error {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, content, 0o644)
	})
}
