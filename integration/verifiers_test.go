//go:build integration

package integration

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// TestVerifiers: each way in which a table of the real Paimon is broken in table/verify/testdata/broken.txt is found by the real Paimon
// and by `sink verify`, under the same code.
func TestVerifiers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	unpackBroken(t, dir)
	text, err := os.ReadFile("../table/verify/testdata/broken.txt")
	require.NoError(t, err)
	cases := 0
	for _, line := range lines(string(text)) {
		var name, golden, code string
		if _, err := fmt.Sscan(line, &name, &golden, &code); err != nil || name == "#" {
			continue
		}
		cases++
		x := lake{uri: "file://" + filepath.Join(dir, name)}.table("g." + golden)
		theirs, err := shared.java.ask(x.java("fsck")...)
		require.NoError(t, err)
		ours := start(t, x.cli("verify", "-o", "json")...)
		exit := ours.wait(t, waitLong)
		if code == "-" {
			require.Zero(t, theirs.RC, "%s: %s", name, theirs.Out)
			require.Zero(t, exit, "%s: %s", name, ours.out.String())
			continue
		}
		said := code
		if code == "orphan" {
			said = "ORPHAN " // the summary counts orphans in any case
		}
		require.Contains(t, theirs.Out, said, "the real Paimon does not find %s: %s", name, theirs.Err)
		require.Contains(t, ours.out.String(), `"code":"`+code+`"`, "sink verify does not find %s", name)
	}
	require.Greater(t, cases, 50)
}

// unpackBroken puts each broken table into a warehouse of its own.
func unpackBroken(t *testing.T, dir string) {
	f, err := os.Open("../table/verify/testdata/broken.tar.zst")
	require.NoError(t, err)
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<28))
	require.NoError(t, err)
	defer z.Close()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		name, object, ok := strings.Cut(filepath.Clean(h.Name), "/")
		if !ok || h.Typeflag != tar.TypeReg {
			continue
		}
		path := filepath.Join(dir, name, "g.db", object)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, b, 0o644))
	}
}
