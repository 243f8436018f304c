package manifest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// entryOf makes an entry of an unpartitioned table.
func entryOf(kind Kind, name string, bucket, level int32) Entry {
	return Entry{Kind: kind, File: table.File{
		Bucket: table.Bucket{Partition: table.EmptyRow, Number: bucket}, TotalBuckets: 4, Name: name, Level: level,
		SizeBytes: 1, Rows: 1, MinKey: []byte(table.EmptyRow), MaxKey: []byte(table.EmptyRow), ExtraFiles: []string{},
	}}
}

func names(files []table.File) (out []string) {
	for i := range files {
		out = append(out, files[i].Name)
	}
	return out
}

func TestLive(t *testing.T) {
	live, err := Live([]Entry{
		entryOf(Add, "a", 0, 0), entryOf(Add, "b", 0, 0), entryOf(Add, "a", 1, 0), entryOf(Delete, "a", 0, 0),
		entryOf(Add, "a", 0, 5), // moved up without being rewritten
	})
	require.NoError(t, err)
	require.Equal(t, []string{"b", "a", "a"}, names(live))
	require.EqualValues(t, 5, live[2].Level)

	for want, entries := range map[string][]Entry{
		"file is added twice: a in bucket 3 at level 1":                      {entryOf(Add, "a", 3, 1), entryOf(Add, "a", 3, 1)},
		"file is added again after it was deleted: a in bucket 3 at level 1": {entryOf(Add, "a", 3, 1), entryOf(Delete, "a", 3, 1), entryOf(Add, "a", 3, 1)},
		"file is deleted but was never added: a in bucket 3 at level 1":      {entryOf(Delete, "a", 3, 1), entryOf(Add, "a", 3, 1)},
		"file is deleted twice: a in bucket 3 at level 1":                    {entryOf(Add, "a", 3, 1), entryOf(Delete, "a", 3, 1), entryOf(Delete, "a", 3, 1)},
		"file has no name": {entryOf(Add, "", 0, 0)},
	} {
		_, err := Live(entries)
		require.EqualError(t, err, want)
	}
}

// TestIdentity changes each part of an identity in turn.
func TestIdentity(t *testing.T) {
	base := entryOf(Add, "a", 0, 0).File
	for i, change := range []func(f *table.File){
		func(f *table.File) { f.Name = "b" },
		func(f *table.File) { f.Level = 1 },
		func(f *table.File) { f.Bucket.Number = 1 },
		func(f *table.File) { f.Bucket.Partition = "p" },
		func(f *table.File) { f.ExtraFiles = []string{"x"} },
		func(f *table.File) { f.ExtraFiles = []string{"x", "y"} },
		func(f *table.File) { f.EmbeddedIndex = []byte{} },
		func(f *table.File) { f.EmbeddedIndex = []byte("x") },
		func(f *table.File) { f.ExternalPath = "x" },
	} {
		f := base
		change(&f)
		require.NotEqual(t, IdentityOf(&base), IdentityOf(&f), i)
	}
	same := base
	same.ExtraFiles, same.SizeBytes, same.Rows, same.TotalBuckets = nil, 7, 7, 7
	require.Equal(t, IdentityOf(&base), IdentityOf(&same))
}

// TestFilesLong adds and deletes many files, so that gaps are closed on the way.
func TestFilesLong(t *testing.T) {
	var l Files
	for i := range 10000 {
		e := entryOf(Add, fmt.Sprint("f", i), 0, 0)
		require.NoError(t, l.Apply(&e))
		if i >= 10 {
			d := entryOf(Delete, fmt.Sprint("f", i-10), 0, 0)
			require.NoError(t, l.Apply(&d))
			require.False(t, l.Has(IdentityOf(&d.File)))
		}
		require.True(t, l.Has(IdentityOf(&e.File)))
	}
	require.Equal(t, 10, l.Len())
	require.Equal(t, "f9990", l.All()[0].Name)
	require.Less(t, cap(l.files), 4096)
}
