//go:build integration

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sink/table/goldentest"

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
	require.NoError(t, goldentest.Walk("../table/verify/testdata/broken.tar.zst", func(name string, content []byte) error {
		name, object, _ := strings.Cut(name, "/")
		path := filepath.Join(dir, name, "g.db", object)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, content, 0o644)
	}))
}
