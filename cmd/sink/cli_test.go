package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCLI runs the command lines of testdata/cli and compares all that they print. A line "$ sink ..." is a command; what
// follows up to the next is the answer: standard output, then standard error behind "! ", then the exit code if it is not
// 0. $W is a warehouse of golden tables, $T an empty folder of the test.
func TestCLI(t *testing.T) {
	scripts, err := filepath.Glob("testdata/cli/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	warehouse := goldenWarehouse(t)
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(script)
			require.NoError(t, err)
			dir := t.TempDir()
			var out strings.Builder
			for line := range strings.Lines(string(text)) {
				switch command, ok := strings.CutPrefix(line, "$ "); {
				case strings.HasPrefix(line, "## "):
					out.WriteString("\n" + line)
				case ok:
					out.WriteString("\n" + line)
					answer := runLine(t, strings.NewReplacer("$W", warehouse, "$T", dir).Replace(strings.TrimSpace(command)))
					out.WriteString(strings.NewReplacer(warehouse, "$W", dir, "$T").Replace(answer))
				}
			}
			golden(t, script, strings.TrimPrefix(out.String(), "\n"))
		})
	}
}

// runLine runs one command line and returns its answer.
func runLine(t *testing.T, line string) string {
	args := fields(line)
	require.Equal(t, "sink", args[0])
	code, stdout, stderr := runSink(t, "", args[1:]...)
	var out strings.Builder
	out.WriteString(stdout)
	for l := range strings.Lines(stderr) {
		out.WriteString("! " + l)
	}
	if code != 0 {
		fmt.Fprintf(&out, "exit %d\n", code)
	}
	return out.String()
}

// runSink runs a command in this process.
func runSink(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// fields splits a line at spaces; single quotes hold a word together.
func fields(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// goldenWarehouse unpacks the golden tables into a folder and returns it.
func goldenWarehouse(t *testing.T) string {
	dir := t.TempDir()
	f, err := os.Open("testdata/warehouse.tar.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		require.NoError(t, err)
		name := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(name, 0o755))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, b, 0o644))
	}
}
