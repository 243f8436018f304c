package scan

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/goldentest"
	"sink/table/object"
)

// goldenDir is where TestMain unpacks testdata/java-1.3.1.tar.gz.
var goldenDir string

func TestMain(m *testing.M) {
	code := func() int {
		dir, err := os.MkdirTemp("", "scan-golden-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		if err := goldentest.Unpack("testdata/java-1.3.1.tar.gz", dir); err != nil {
			panic(err)
		}
		goldenDir = dir
		return m.Run()
	}()
	os.Exit(code)
}

// eachGolden runs a test for every golden table.
func eachGolden(t *testing.T, test func(t *testing.T, name string, tab *Table)) {
	dirs, err := os.ReadDir(filepath.Join(goldenDir, "g.db"))
	require.NoError(t, err)
	require.Len(t, dirs, 37)
	for _, d := range dirs {
		t.Run(d.Name(), func(t *testing.T) { test(t, d.Name(), golden(t, d.Name())) })
	}
}

func golden(t testing.TB, name string) *Table {
	tab, err := Open(t.Context(), object.NewLocal(goldenDir), table.NewPath("g", name))
	require.NoError(t, err)
	return tab
}

func expected(t *testing.T, name, file string) []string {
	b, err := os.ReadFile(filepath.Join(goldenDir, name, file))
	require.NoError(t, err)
	return lines(string(b))
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	all := strings.SplitAfter(s, "\n")
	return all[:len(all)-1]
}

// printRows returns the rows of a plan as canonical JSON.
func printRows(t testing.TB, p *Plan, o Options) ([]string, error) {
	fields, err := p.Fields(o)
	require.NoError(t, err)
	var out []string
	for b, err := range p.Rows(t.Context(), o) {
		if err != nil {
			return out, err
		}
		require.Positive(t, b.Len())
		for i := range b.Len() {
			require.False(t, b.Kinds[i].Retracts())
			out = append(out, string(table.AppendCanonicalRow(nil, fields, b, i))+"\n")
		}
	}
	return out, nil
}

// printChanges returns changes in the form of the golden files.
func printChanges(t testing.TB, tab *Table, from Start, o ChangeOptions) ([]string, error) {
	fields, err := tab.ChangeFields(o)
	require.NoError(t, err)
	var out []string
	for c, err := range tab.Changes(t.Context(), from, o) {
		if err != nil {
			return out, err
		}
		for i := range c.Batch.Len() {
			var b bytes.Buffer
			phase := map[bool]string{true: "full", false: "changelog"}[c.Full]
			fmt.Fprintf(&b, `{"snapshot":%d,"phase":"%s"`, c.Snapshot, phase)
			if c.Split.Partition != nil {
				fmt.Fprintf(&b, `,"partition":%s`, c.Split.Partition)
			}
			fmt.Fprintf(&b, `,"bucket":%d,"kind":"%s","row":%s}`+"\n", c.Split.Bucket.Number, c.Batch.Kinds[i],
				table.AppendCanonicalRow(nil, fields, c.Batch, i))
			out = append(out, b.String())
		}
	}
	return out, nil
}

// TestGoldenRows reads every golden table at every snapshot and tag as Paimon's reader does.
func TestGoldenRows(t *testing.T) {
	file := regexp.MustCompile(`^rows(?:-tag-(.*)|-(\d+))?\.jsonl$`)
	eachGolden(t, func(t *testing.T, name string, tab *Table) {
		entries, err := os.ReadDir(filepath.Join(goldenDir, name))
		require.NoError(t, err)
		read := 0
		for _, e := range entries {
			m := file.FindStringSubmatch(e.Name())
			if m == nil {
				continue
			}
			at := At{Tag: m[1]}
			if m[2] != "" {
				at.Snapshot, err = strconv.ParseInt(m[2], 10, 64)
				require.NoError(t, err)
			}
			plan, err := tab.Plan(t.Context(), at, nil)
			require.NoError(t, err)
			got, err := printRows(t, plan, Options{Ordered: true})
			require.NoError(t, err, e.Name())
			want := expected(t, name, e.Name())
			require.Empty(t, cmp.Diff(want, got), e.Name())

			unordered, err := printRows(t, plan, Options{})
			require.NoError(t, err)
			slices.Sort(want)
			slices.Sort(unordered)
			require.Equal(t, want, unordered, e.Name())
			read++
		}
		require.Positive(t, read)
	})
}

// TestGoldenChanges reads the changelog of every golden table as Paimon's streaming reader does.
func TestGoldenChanges(t *testing.T) {
	eachGolden(t, func(t *testing.T, name string, tab *Table) {
		got, err := printChanges(t, tab, Earliest, ChangeOptions{})
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(expected(t, name, "changelog-earliest.jsonl"), got))

		got, err = printChanges(t, tab, LatestFull, ChangeOptions{})
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(expected(t, name, "changelog-latest-full.jsonl"), got))
	})
}
