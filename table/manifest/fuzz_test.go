package manifest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// addGolden seeds a fuzzer with golden files.
func addGolden(f *testing.F, pattern string) {
	names, err := filepath.Glob(filepath.Join(goldenDir, "g.db", pattern))
	require.NoError(f, err)
	require.NotEmpty(f, names)
	for i := 0; i < len(names); i += 1 + len(names)/8 {
		b, err := os.ReadFile(names[i])
		require.NoError(f, err)
		f.Add(b)
	}
}

func FuzzEntry(f *testing.F) {
	addGolden(f, "*/manifest/manifest-[!l]*")
	f.Add(encodeEntries(sampleEntries(), codec{name: "null", compress: func(b []byte) []byte { return b }}))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := decodeEntries(b)
		if err != nil {
			return
		}
		again, err := decodeEntries(encodeEntries(entries, zstdCodec(1)))
		require.NoError(t, err)
		for i := range entries { // what is absent is written as empty
			e := &entries[i].File
			again[i].File.KeyStats, again[i].File.ValueStats = e.KeyStats, e.ValueStats
			again[i].File.ExtraFiles = e.ExtraFiles
			if e.DeleteRows < 0 {
				e.DeleteRows = -1
			}
		}
		require.Empty(t, cmp.Diff(entries, again))
	})
}

func FuzzList(f *testing.F) {
	addGolden(f, "*/manifest/manifest-list-*")
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decodeList(b)
		if err != nil {
			return
		}
		again, err := decodeList(encodeList(list, zstdCodec(1)))
		require.NoError(t, err)
		for i := range list {
			again[i].Partitions = list[i].Partitions
		}
		require.Empty(t, cmp.Diff(list, again))
	})
}

func FuzzSnapshotJSON(f *testing.F) {
	addGolden(f, "*/snapshot/snapshot-*")
	addGolden(f, "*/tag/tag-*")
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSnapshot(b)
		if err != nil {
			return
		}
		encoded, err := s.Encode()
		require.NoError(t, err)
		again, err := ParseSnapshot(encoded)
		require.NoError(t, err, "%s", encoded)
		encodedAgain, err := again.Encode()
		require.NoError(t, err)
		require.Equal(t, string(encoded), string(encodedAgain))
		if tag, err := parseTag("t", b); err == nil {
			encoded, err := tag.encode()
			require.NoError(t, err)
			_, err = parseTag("t", encoded)
			require.NoError(t, err, "%s", encoded)
		}
	})
}
