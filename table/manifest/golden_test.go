package manifest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
		dir, err := os.MkdirTemp("", "manifest-golden-")
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

// golden is a table that Paimon wrote.
type golden struct {
	name   string
	store  object.Store
	path   table.Path
	schema *table.Schema
}

// eachGolden runs a test for every golden table.
func eachGolden(t *testing.T, test func(t *testing.T, g golden)) {
	dirs, err := os.ReadDir(filepath.Join(goldenDir, "g.db"))
	require.NoError(t, err)
	require.Len(t, dirs, 37)
	store := object.NewLocal(goldenDir)
	for _, d := range dirs {
		t.Run(d.Name(), func(t *testing.T) {
			path := table.NewPath("g", d.Name())
			schema, err := LatestSchema(t.Context(), store, path)
			require.NoError(t, err)
			test(t, golden{d.Name(), store, path, schema})
		})
	}
}

// metadata returns the files of the manifest folder whose names start with a prefix, by name.
func (g golden) metadata(t *testing.T, prefix string) map[string][]byte {
	files := make(map[string][]byte)
	for info, err := range g.store.List(t.Context(), g.path.ManifestDir()+prefix) {
		require.NoError(t, err)
		name := strings.TrimPrefix(info.Name, g.path.ManifestDir())
		if prefix == "manifest-" && strings.HasPrefix(name, "manifest-list-") {
			continue
		}
		b, err := g.store.Get(t.Context(), info.Name)
		require.NoError(t, err)
		files[name] = b
	}
	require.NotEmpty(t, files)
	return files
}

// sameSchema reports whether a file has our writer schema, letter by letter. All do but those of Paimon 1.0.
func (g golden) sameSchema(b []byte, schema string) bool {
	return g.name != "copied" || bytes.Contains(b, []byte(schema))
}

// blocks returns the decompressed records of a container.
func blocks(t *testing.T, b []byte) []byte {
	r, err := openContainer(b)
	require.NoError(t, err)
	var all []byte
	for {
		_, block, err := r.next()
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		all = append(all, block...)
	}
}

func TestGoldenManifests(t *testing.T) {
	eachGolden(t, func(t *testing.T, g golden) {
		for name, b := range g.metadata(t, "manifest-") {
			entries, err := decodeEntries(b)
			require.NoError(t, err, name)

			encoded := encodeEntries(entries, zstdCodec(1))
			if g.sameSchema(b, entrySchema) {
				require.Equal(t, blocks(t, b), blocks(t, encoded), "%s: not the bytes that Java wrote", name)
			}
			again, err := decodeEntries(encoded)
			require.NoError(t, err)
			require.Equal(t, entries, again, name)
			require.Equal(t, entries, entriesByGoavro(t, b), "%s: goavro reads something else", name)
		}
	})
}

func TestGoldenLists(t *testing.T) {
	eachGolden(t, func(t *testing.T, g golden) {
		for name, b := range g.metadata(t, "manifest-list-") {
			list, err := decodeList(b)
			require.NoError(t, err, name)
			encoded := encodeList(list, zstdCodec(1))
			if g.sameSchema(b, listSchema) {
				require.Equal(t, blocks(t, b), blocks(t, encoded), "%s: not the bytes that Java wrote", name)
			}
			again, err := decodeList(encoded)
			require.NoError(t, err)
			require.Equal(t, list, again, name)
		}
	})
}

// TestGoldenSummaries writes each manifest again and compares what the list says of it with what Java's list says.
func TestGoldenSummaries(t *testing.T) {
	eachGolden(t, func(t *testing.T, g golden) {
		compared := 0
		for _, b := range g.metadata(t, "manifest-list-") {
			list, err := decodeList(b)
			require.NoError(t, err)
			for _, want := range list {
				entries, err := ReadManifest(t.Context(), g.store, g.path, want.Name)
				if errors.Is(err, fs.ErrNotExist) {
					continue // a list that outlived its manifests
				}
				require.NoError(t, err)
				w, err := NewWriter(object.NewMem(), g.path, g.schema, table.NewManifestNamer("u"))
				require.NoError(t, err)
				got, err := w.Manifests(t.Context(), entries)
				require.NoError(t, err)
				require.Len(t, got, 1)
				got[0].Name, got[0].SizeBytes = want.Name, want.SizeBytes
				if g.name == "copied" { // Paimon 1.0 wrote no ranges
					require.Zero(t, want.Buckets)
					want.Buckets, want.Levels = got[0].Buckets, got[0].Levels
				}
				require.Empty(t, cmp.Diff(want, got[0]), want.Name)
				compared++
			}
		}
		require.Positive(t, compared)
	})
}

func TestGoldenSnapshots(t *testing.T) {
	eachGolden(t, func(t *testing.T, g golden) {
		ids, err := SnapshotIDs(t.Context(), g.store, g.path)
		require.NoError(t, err)
		require.NotEmpty(t, ids)
		latest, ok, err := Latest(t.Context(), g.store, g.path)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, ids[len(ids)-1], latest)
		earliest, _, err := Earliest(t.Context(), g.store, g.path)
		require.NoError(t, err)
		require.Equal(t, ids[0], earliest)
		var names []string
		for _, id := range ids {
			names = append(names, g.path.Snapshot(id))
		}
		ids, err = LongLivedChangelogIDs(t.Context(), g.store, g.path)
		require.NoError(t, err)
		for _, id := range ids {
			names = append(names, g.path.Changelog(id))
		}
		tags, err := TagNames(t.Context(), g.store, g.path)
		require.NoError(t, err)
		for _, tag := range tags {
			names = append(names, g.path.Tag(tag))
			_, err := ReadTag(t.Context(), g.store, g.path, tag)
			require.NoError(t, err)
		}
		for _, name := range names {
			b, err := g.store.Get(t.Context(), name)
			require.NoError(t, err)
			s, err := ParseSnapshot(b)
			require.NoError(t, err, name)
			require.Equal(t, json.RawMessage("{ }"), s.Unknown["logOffsets"])
			encoded, err := s.Encode()
			require.NoError(t, err)
			again, err := ParseSnapshot(encoded)
			require.NoError(t, err, "%s", encoded)
			require.Equal(t, "{}", string(again.Unknown["logOffsets"]))
			again.Unknown = s.Unknown
			require.Empty(t, cmp.Diff(s, again), name)
		}
	})
}

func TestGoldenSchemas(t *testing.T) {
	eachGolden(t, func(t *testing.T, g golden) {
		ids, err := SchemaIDs(t.Context(), g.store, g.path)
		require.NoError(t, err)
		schemas := NewSchemas(g.store, g.path)
		for _, id := range ids {
			s, err := schemas.Get(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, id, s.ID)
		}
		require.Equal(t, ids[len(ids)-1], g.schema.ID)
	})
}

// goldenFiles is what Paimon's own system tables tell.
type goldenFiles struct {
	Snapshots []struct {
		ID    int64 `json:"snapshot_id"`
		Total int64 `json:"total_record_count"`
	} `json:"snapshots"`
	Files []struct {
		Bucket  int32  `json:"bucket"`
		Path    string `json:"file_path"`
		Schema  int64  `json:"schema_id"`
		Level   int32  `json:"level"`
		Rows    int64  `json:"record_count"`
		Size    int64  `json:"file_size_in_bytes"`
		MinSeq  int64  `json:"min_sequence_number"`
		MaxSeq  int64  `json:"max_sequence_number"`
		Deletes *int64 `json:"deleteRowCount"`
		Source  string `json:"file_source"`
	} `json:"files"`
	Manifests []struct {
		Name    string `json:"file_name"`
		Size    int64  `json:"file_size"`
		Added   int64  `json:"num_added_files"`
		Deleted int64  `json:"num_deleted_files"`
		Schema  int64  `json:"schema_id"`
	} `json:"manifests"`
}

func TestGoldenLive(t *testing.T) {
	eachGolden(t, func(t *testing.T, g golden) {
		b, err := os.ReadFile(filepath.Join(goldenDir, g.name, "files.json"))
		require.NoError(t, err)
		var want goldenFiles
		require.NoError(t, json.Unmarshal(b, &want))

		for _, s := range want.Snapshots {
			snapshot, err := ReadSnapshot(t.Context(), g.store, g.path, s.ID)
			require.NoError(t, err)
			files, err := ReadLive(t.Context(), g.store, g.path, snapshot, nil)
			require.NoError(t, err)
			var rows int64
			for i := range files {
				rows += files[i].Rows
			}
			require.Equal(t, s.Total, rows, "snapshot %d", s.ID)
			require.Equal(t, s.Total, snapshot.TotalRecords)
		}
		latest, err := LatestSnapshot(t.Context(), g.store, g.path)
		require.NoError(t, err)
		files, err := ReadLive(t.Context(), g.store, g.path, latest, nil)
		require.NoError(t, err)
		var have, expect []string
		for i := range files {
			have = append(have, line(t, g, &files[i]))
		}
		for _, f := range want.Files {
			deletes := int64(-1)
			if f.Deletes != nil {
				deletes = *f.Deletes
			}
			expect = append(expect, fmt.Sprintf("%s schema %d level %d rows %d size %d seq %d..%d deletes %d %s", f.Path,
				f.Schema, f.Level, f.Rows, f.Size, f.MinSeq, f.MaxSeq, deletes, f.Source))
		}
		slices.Sort(have)
		slices.Sort(expect)
		require.Empty(t, cmp.Diff(expect, have))

		list, err := ReadDataList(t.Context(), g.store, g.path, latest)
		require.NoError(t, err)
		if latest.ChangelogList != "" {
			changelog, err := ReadList(t.Context(), g.store, g.path, latest.ChangelogList)
			require.NoError(t, err)
			list = append(list, changelog...)
		}
		require.Len(t, list, len(want.Manifests))
		for _, m := range want.Manifests {
			i := slices.IndexFunc(list, func(e ListEntry) bool { return e.Name == m.Name })
			require.GreaterOrEqual(t, i, 0, m.Name)
			e := list[i]
			require.Equal(t, []int64{m.Size, m.Added, m.Deleted, m.Schema}, []int64{e.SizeBytes, e.Added, e.Deleted, e.SchemaID})
		}
	})
}

func line(t *testing.T, g golden, f *table.File) string {
	partition, err := table.PartitionPath(g.schema, f.Bucket.Partition)
	require.NoError(t, err)
	source := map[table.FileSource]string{table.SourceAppend: "APPEND", table.SourceCompact: "COMPACT"}[f.Source]
	return fmt.Sprintf("WAREHOUSE/%s schema %d level %d rows %d size %d seq %d..%d deletes %d %s",
		g.path.DataFile(partition, f.Bucket.Number, f.Name), f.SchemaID, f.Level, f.Rows, f.SizeBytes, f.MinSeq, f.MaxSeq,
		f.DeleteRows, source)
}

// TestGoldenMerge merges the metadata of every snapshot in several ways: the live files stay the same.
func TestGoldenMerge(t *testing.T) {
	options := map[string]MergeOptions{
		"pairs": {TargetSizeBytes: 1, MinCount: 2, FullSizeBytes: 1 << 40},
		"small": {TargetSizeBytes: 6000, MinCount: 30, FullSizeBytes: 1 << 40},
		"tail":  {TargetSizeBytes: 8 << 20, MinCount: 2, FullSizeBytes: 1 << 40},
		"full":  {TargetSizeBytes: 8 << 20, MinCount: 2, FullSizeBytes: 1},
		"kept":  {TargetSizeBytes: 2800, MinCount: 2, FullSizeBytes: 1},
	}
	eachGolden(t, func(t *testing.T, g golden) {
		snapshot, err := LatestSnapshot(t.Context(), g.store, g.path)
		require.NoError(t, err)
		list, err := ReadDataList(t.Context(), g.store, g.path, snapshot)
		require.NoError(t, err)
		live, err := ReadLive(t.Context(), g.store, g.path, snapshot, nil)
		require.NoError(t, err)
		for name, o := range options {
			both := overlay{g.store, object.NewMem()}
			w, err := NewWriter(both, g.path, g.schema, table.NewManifestNamer("merged"))
			require.NoError(t, err)
			w.targetSize = o.TargetSizeBytes
			plan := PlanMerge(list, o)
			merged, written, err := w.Merge(t.Context(), plan, o)
			require.NoError(t, err)
			require.Equal(t, plan.Nothing(), len(written) == 0 && len(merged) == len(list), name)
			var files Files
			require.NoError(t, EachEntry(t.Context(), both, g.path, merged, nil, files.Apply))
			require.ElementsMatch(t, live, files.All(), name)
		}
	})
}

// overlay writes to one store and reads from two.
type overlay struct {
	object.Store
	writes object.Store
}

func (o overlay) Put(ctx context.Context, name string, b []byte) error {
	return o.writes.Put(ctx, name, b)
}

func (o overlay) Get(ctx context.Context, name string) ([]byte, error) {
	if b, err := o.writes.Get(ctx, name); err == nil {
		return b, nil
	}
	return o.Store.Get(ctx, name)
}

func TestGoldenIndexManifests(t *testing.T) {
	found := 0
	eachGolden(t, func(t *testing.T, g golden) {
		s, err := LatestSnapshot(t.Context(), g.store, g.path)
		require.NoError(t, err)
		if s.IndexManifest == "" {
			return
		}
		entries, err := ReadIndexManifest(t.Context(), g.store, g.path, s.IndexManifest)
		require.NoError(t, err)
		require.NotEmpty(t, entries)
		for _, e := range entries {
			require.Equal(t, HashIndex, e.Type)
			require.Equal(t, 4*e.Rows, e.SizeBytes)
			b, err := g.store.Get(t.Context(), g.path.Index(e.Name))
			require.NoError(t, err)
			require.Len(t, b, int(e.SizeBytes))
		}
		found++
	})
	require.Equal(t, 2, found)
}
